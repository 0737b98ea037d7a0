"""The console: pages for people, one noun one file, made on the server from templates that lie beside them.

They show what `service` says and send what people choose. Nothing is decided here, and no page fetches
anything that is not this server's.
"""

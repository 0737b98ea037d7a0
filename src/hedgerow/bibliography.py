"""The sources that docstrings and citations refer to, by key."""

from __future__ import annotations

ENTRIES: dict[str, str] = {
    "BR11": "Blum, Roth. Fast private data release algorithms for sparse queries. 2011.",
    "BS16": "Bun, Steinke. Concentrated differential privacy: simplifications and lower bounds. 2016.",
    "CKS20": "Canonne, Kamath, Steinke. The discrete Gaussian for differential privacy. 2020.",
    "CP34": "Clopper, Pearson. The use of confidence or fiducial limits. 1934.",
    "CL68": "Chow, Liu. Approximating discrete probability distributions with dependence trees. 1968.",
    "CR21": "Cesar, Rogers. Bounding, concentrating, truncating: unifying privacy loss composition. 2021.",
    "DDR20": "Dong, Durfee, Rogers. Optimal composition for exponential mechanisms. 2020.",
    "DGKKM22": "Doroshenko et al. Connect the dots: tighter privacy loss distributions. 2022.",
    "DMNS06": "Dwork, McSherry, Nissim, Smith. Calibrating noise to sensitivity. 2006.",
    "DR14": "Dwork, Roth. The algorithmic foundations of differential privacy. 2014.",
    "DRV10": "Dwork, Rothblum, Vadhan. Boosting and differential privacy. 2010.",
    "F54": "Fieller. Some problems in interval estimation. 1954.",
    "GRS09": "Ghosh, Roughgarden, Sundararajan. Universally utility-maximizing privacy mechanisms. 2009.",
    "HR10": "Hardt, Rothblum. A multiplicative weights mechanism for privacy-preserving data analysis. 2010.",
    "KOV15": "Kairouz, Oh, Viswanath. The composition theorem for differential privacy. 2015.",
    "KOV16": "Kairouz, Oh, Viswanath. Extremal mechanisms for local differential privacy. 2016.",
    "LSL17": "Lyu, Su, Li. Understanding the sparse vector technique for differential privacy. 2017.",
    "L22": "Lyu. Composition theorems for interactive differential privacy. 2022.",
    "M17": "Mironov. Renyi differential privacy. 2017.",
    "MS20": "McKenna, Sheldon. Permute-and-flip: a new mechanism for differentially private selection. 2020.",
    "MT07": "McSherry, Talwar. Mechanism design via differential privacy. 2007.",
    "VW21": "Vadhan, Wang. Concurrent composition of differential privacy. 2021.",
    "VZ23": "Vadhan, Zhang. Concurrent composition theorems for differential privacy. 2023.",
    "W3": "Wang. Lecture 3: sparse vector technique and linear query release. UC Santa Barbara.",
    "W12": "Wang. Lecture 12: private multiplicative weights. KAUST.",
    "ZW20": "Zhu, Wang. Improving sparse vector technique with Renyi differential privacy. 2020.",
    "W65": "Warner. Randomized response: a survey technique for eliminating evasive answer bias. 1965.",
}

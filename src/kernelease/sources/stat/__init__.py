"""Files of SPSS, Stata and SAS, by ReadStat."""

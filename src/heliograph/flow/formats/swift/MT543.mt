# MT543, Deliver Against Payment: the sequences and fields that a message of 2003 could have.
#
# A sequence lists what it holds, in order: a field by its tag (a lower case `a` stands for any of its options), an
# inner sequence by the code in its 16R and 16S. What follows a name: nothing = exactly once, ? = at most once, + = once or more, * = any number.
message: MT543
release: 2003

sequences:
  MT543: GENL TRADDET FIAC REPO? SETDET OTHRPRTY*
  GENL: 20C 23G 98a? 99B* LINK*
  LINK: 22F? 13a? 20C
  TRADDET: 94B? 98a+ 90a? 99A? 35B FIA? 22F* 25D* 70E*
  FIA: 94B? 22F* 12a* 11A? 98A* 92A* 13B* 17B* 90a* 36B* 35B* 70E?
  FIAC: 36B+ 70D? 13B* 95a? 97a+ 94a?
  REPO: 98a? 22F* 20C* 92a* 99B* 19A* 70C?
  SETDET: 22F+ SETPRTY+ CSHPRTY* AMT+
  SETPRTY: 95a+ 97a? 98a? 20C? 70a*
  CSHPRTY: 95a+ 97a* 70a*
  AMT: 17B* 19A+ 98a? 92B?
  OTHRPRTY: 95a+ 97a? 70a* 20C?

# What each field holds, in SWIFT's notation, and the names of its components.
fields:
  11A: [":4!c//3!a", Qualifier, Currency]
  12A: [":4!c/[8c]/30x", Qualifier, Issuer, Type]
  12B: [":4!c/[8c]/4!c", Qualifier, Issuer, Type]
  12C: [":4!c//6!c", Qualifier, Type]
  13A: [":4!c//3!c", Qualifier, Number]
  13B: [":4!c/[8c]/30x", Qualifier, Issuer, Number]
  17B: [":4!c//1!a", Qualifier, Flag]
  19A: [":4!c//[N]3!a15d", Qualifier, Sign, Currency, Amount]
  20C: [":4!c//16x", Qualifier, Reference]
  22F: [":4!c/[8c]/4!c", Qualifier, Issuer, Indicator]
  23G: ["4!c[/4!c]", Function, Subfunction]
  25D: [":4!c/[8c]/4!c", Qualifier, Issuer, Status]
  35B: ["[ISIN1!e12!c][$4*35x]", ISIN, Description]
  36B: [":4!c//4!c/15d", Qualifier, Type, Quantity]
  70C: [":4!c//4*35x", Qualifier, Narrative]
  70D: [":4!c//6*35x", Qualifier, Narrative]
  70E: [":4!c//10*35x", Qualifier, Narrative]
  90A: [":4!c//4!c/15d", Qualifier, Type, Price]
  90B: [":4!c//4!c/3!a15d", Qualifier, Type, Currency, Price]
  92A: [":4!c//[N]15d", Qualifier, Sign, Rate]
  92B: [":4!c//3!a/3!a/15d", Qualifier, FirstCurrency, SecondCurrency, Rate]
  92C: [":4!c/[8c]/24x", Qualifier, Issuer, RateName]
  94B: [":4!c/[8c]/4!c[/30x]", Qualifier, Issuer, Place, Narrative]
  94C: [":4!c//2!a", Qualifier, Country]
  94F: [":4!c//4!c/{4!a2!a2!c[3!c]}", Qualifier, Place, BIC]
  95C: [":4!c//2!a", Qualifier, Country]
  95P: [":4!c//{4!a2!a2!c[3!c]}", Qualifier, BIC]
  95Q: [":4!c//4*35x", Qualifier, NameAndAddress]
  95R: [":4!c/8c/34x", Qualifier, Issuer, Code]
  95S: [":4!c/[8c]/4!c/2!a/30x", Qualifier, Issuer, Type, Country, AlternateId]
  97A: [":4!c//35x", Qualifier, Account]
  97B: [":4!c/[8c]/4!c/35x", Qualifier, Issuer, Type, Account]
  97C: [":4!c//4!c", Qualifier, Account]
  98A: [":4!c//8!n", Qualifier, Date]
  98B: [":4!c/[8c]/4!c", Qualifier, Issuer, Code]
  98C: [":4!c//8!n6!n", Qualifier, Date, Time]
  99A: [":4!c//[N]3!n", Qualifier, Sign, Number]
  99B: [":4!c//3!n", Qualifier, Number]

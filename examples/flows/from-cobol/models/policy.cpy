      * A policy with its covers, as the host's programs know it.
       01  POLICY.
           05  POLICY-NUMBER           PIC X(10).
           05  STATUS-CODE             PIC X.
               88  ACTIVE              VALUE 'A'.
               88  LAPSED              VALUE 'L'.
           05  VALID-FROM              PIC 9(8).
           05  PREMIUM                 PIC S9(7)V99 COMP-3.
           05  BALANCE                 PIC S9(7)V99.
           05  HOLDER-KIND             PIC X.
           05  PERSON.
               10  FIRST-NAME          PIC X(12).
               10  LAST-NAME           PIC X(18).
           05  COMPANY REDEFINES PERSON.
               10  COMPANY-NAME        PIC X(24).
               10  TAX-NUMBER          PIC 9(11) COMP-3.
           05  COVER-COUNT             PIC S9(4) COMP.
           05  COVER OCCURS 0 TO 5 TIMES DEPENDING ON COVER-COUNT.
               10  RISK                PIC X(8).
               10  SUM-INSURED         PIC 9(9) COMP.

package io.windtunnel.storage;

/** The answer of one check: {@code yes}, {@code no} or {@code differs}, and what was observed. */
record Answer(String word, String note) {
  static Answer yes() {
    return new Answer("yes", "");
  }

  static Answer yesIf(boolean holds, String otherwise) {
    return holds ? yes() : no(otherwise);
  }

  static Answer no(String note) {
    return new Answer("no", note);
  }

  static Answer differs(String note) {
    return new Answer("differs", note);
  }
}

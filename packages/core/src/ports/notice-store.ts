/** What may be taken up: turns; deliveries; broadcasts that are still to be spread. */
export const workKinds = ['turns', 'deliveries', 'broadcasts'] as const
export type WorkKind = (typeof workKinds)[number]

/** What an operator sees change. */
export const changeKinds = ['message', 'refusal', 'turn', 'delivery', 'requirement'] as const
export type ChangeKind = (typeof changeKinds)[number]

/** Numbers of what has changed; of a requirement that of its message. */
export type ChangeNotice = Readonly<Partial<Record<ChangeKind, readonly number[]>>>

/** Hints between those who wait and those who work. A hint may be lost; the truth is in the store. */
export interface NoticeStore {
  /**
   * Topics: `work` with a list of `WorkKind`; `changes` with a `ChangeNotice`; `message:<n>` with `{ kind: 'part', chunk }`, what is done meanwhile (`'note'`, `'stage'`), `{ kind: 'settled' }`, or what
   * broke its turn off: `{ kind: 'canceled' }`, `'deleted'`, `'interrupted'`, `'edited'`.
   */
  notify(topic: string, payload: unknown): void
  /** Returns the function that ends listening. */
  listen(topic: string, listener: (payload: unknown) => void): () => void
}

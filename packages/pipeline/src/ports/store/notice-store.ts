// Declares the notices between processes that wait for changes and those that make them.

/** The kinds of work that a worker leases: turns, deliveries, and broadcasts that still have to be expanded into deliveries. */
export const workKinds = ['turns', 'deliveries', 'broadcasts'] as const
export type WorkKind = (typeof workKinds)[number]

/** The kinds of records whose changes an operator sees. */
export const changeKinds = ['message', 'refusal', 'turn', 'delivery', 'requirement'] as const
export type ChangeKind = (typeof changeKinds)[number]

/** The numbers of the changed records. For a requirement, it is the number of its message. */
export type ChangeNotice = Readonly<Partial<Record<ChangeKind, readonly number[]>>>

/** The notices between processes that wait and processes that work. A notice may be lost; only the stored data is authoritative. */
export interface NoticeStore {
  /**
   * Sends a notice. The common topics are `work` with a list of `WorkKind`, `changes` with a `ChangeNotice`, and `message:<n>` with one of these:
   * `{ kind: 'part', chunk }`; a notice about the agent's work (`'note'`, `'stage'`); `{ kind: 'settled' }`; the reason why its turn was aborted:
   * `{ kind: 'canceled' }`, `'deleted'`, `'interrupted'`, or `{ kind: 'edited', token }` with the token of the lease that ended, because the turn begins
   * again; or `{ kind: 'left' }` when the worker has left the aborted turn.
   */
  notify(topic: string, payload: unknown): void
  /** Listens to a topic. Returns the function that stops listening. */
  listen(topic: string, listener: (payload: unknown) => void): () => void
}

// Delivers answers to chats, whose clients read them by themselves.

/** Delivers nothing, because the client reads its answer from the stream of the run, or from the history. */
export async function deliverRun(): Promise<{ readonly note: string }> {
  return { note: 'kept for the client to read' }
}

// Lets the gateway's own kinds of agents know whether anybody reads an answer before its end.

const sentWholeKey: unique symbol = Symbol('sentWhole')

interface StreamingContext {
  readonly [sentWholeKey]?: boolean
}

/** Creates the member of a context that holds this fact. It is hidden from authors of agents, and copies of the context keep it. */
export function createStreamingMember({ isSentWhole }: { readonly isSentWhole: boolean }): object {
  return { [sentWholeKey]: isSentWhole } satisfies StreamingContext
}

/** Returns true if the channel sends the answer of a turn only as a whole. */
export function isAnswerSentWhole(context: object): boolean {
  return (context as StreamingContext)[sentWholeKey] ?? false
}

/** Defines the order of one post to all inboxes, and its data. */
export interface FanoutOrder {
  /** A number that differs for each post. */
  readonly serial: string
}

export interface FanoutSetup {
  /** The port at which all the inboxes really listen. */
  readonly port: number
  /** The number of inboxes. */
  readonly count: number
}

/** Returns the host of an inbox. Each inbox is on a server of its own, as nearly all are once shared inboxes are used. */
export function inboxHost(index: number): string {
  return `inbox-${index}.test`
}

/** The text of the post: two sentences. */
export const replyText =
  'The last train back from the coast leaves at 21:40 on Sundays, and it takes bicycles free of charge. In winter it leaves an hour earlier; tickets for two cost what tickets for one cost.'

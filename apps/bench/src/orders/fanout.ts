/** One post to all inboxes. */
export interface FanoutOrder {
  /** Different for each post, a number. */
  readonly serial: string
}

export interface FanoutSetup {
  /** Where all the inboxes really are. */
  readonly port: number
  /** How many inboxes there are. */
  readonly count: number
}

/** Each inbox is on a server of its own, as nearly all are once shared inboxes are used. */
export function inboxHost(index: number): string {
  return `inbox-${index}.test`
}

/** A public post in two sentences. */
export const said =
  'The last train back from the coast leaves at 21:40 on Sundays, and it takes bicycles free of charge. In winter it leaves an hour earlier; tickets for two cost what tickets for one cost.'

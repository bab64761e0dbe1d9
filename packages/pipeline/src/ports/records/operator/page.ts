// Describes the filters and pages of the operator's lists.
import type { ChannelName } from '@postern/message'
import type { DeliveryRecord } from './delivery-record.ts'
import type { MessageState } from './message-record.ts'
import type { Refusal } from './refusal.ts'

export interface Page {
  readonly limit: number
  /** The number of the last row of the previous page. */
  readonly after?: number | undefined
}

/** Instants as ISO 8601 UTC with milliseconds: `since` is within the period, `until` is not. */
export interface ListPeriod {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

interface ListPage extends Page, ListPeriod {
  readonly agent?: string | undefined
  readonly channel?: ChannelName | undefined
  /** A string that one of its texts contains, regardless of case. */
  readonly text?: string | undefined
  /** The smallest number that is searched. */
  readonly floor?: number | undefined
}

export interface MessagePage extends ListPage {
  readonly state?: MessageState | undefined
  /** A string that the sender's address contains, regardless of case. */
  readonly sender?: string | undefined
  readonly flag?: string | undefined
}

/** A page of deliveries. `text` is searched in the destination and in the last error. */
export interface DeliveryPage extends ListPage {
  readonly state?: DeliveryRecord['state'] | undefined
}

/** A page of refusals. `text` is searched in the reason. */
export interface RefusalPage extends ListPage {
  readonly code?: Refusal['code'] | undefined
  /** A string that the peer's claimed sender or its network address contains, regardless of case. */
  readonly sender?: string | undefined
}

/** The range of numbers that one page of a filtered list searches: from `floor` on, below `after`. */
export interface ListWindow {
  readonly after: number
  readonly floor: number
  /** True if the list has no older rows. */
  readonly isLast: boolean
}

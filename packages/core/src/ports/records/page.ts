import type { ChannelName } from '../../message/message.ts'
import type { DeliveryRecord, MessageState, Refusal } from './records.ts'

export interface Page {
  readonly limit: number
  /** The last place of the page before. */
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
  /** Contained in a text of it, in any case. */
  readonly text?: string | undefined
  /** The smallest number that is looked at. */
  readonly floor?: number | undefined
}

export interface MessagePage extends ListPage {
  readonly state?: MessageState | undefined
  /** Contained in the sender's address, in any case. */
  readonly sender?: string | undefined
  readonly flag?: string | undefined
}

/** `text`: of where it goes and of its last error. */
export interface DeliveryPage extends ListPage {
  readonly state?: DeliveryRecord['state'] | undefined
}

/** `text`: of the reason. */
export interface RefusalPage extends ListPage {
  readonly code?: Refusal['code'] | undefined
  /** Contained in what the peer says it is, or in its network address, in any case. */
  readonly sender?: string | undefined
}

/** The numbers that one page of a filtered list looks at: from `floor` on, below `after`. */
export interface ListWindow {
  readonly after: number
  readonly floor: number
  /** Nothing older belongs to the list. */
  readonly isLast: boolean
}

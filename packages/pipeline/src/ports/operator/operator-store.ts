// Declares the queries for the lists of the operator.

import type { ChannelName } from '@postern/message'
import type { ConversationSummary } from '../records/operator/conversation-summary.ts'
import type { DeliveryRecord } from '../records/operator/delivery-record.ts'
import type { MessageRecord, MessageSummary } from '../records/operator/message-record.ts'
import type { DeliveryPage, ListPeriod, ListWindow, MessagePage, Page, RefusalPage } from '../records/operator/page.ts'
import type { Refusal } from '../records/operator/refusal.ts'
import type { StoreCounts } from '../records/operator/store-counts.ts'

/** The lists whose pages search a limited number of rows, each with that number. */
export const windowedLists = { messages: 2_000, texts: 500, deliveries: 10_000, dead: 2_000 } as const

/** The open deliveries to one host, or to the mailboxes of one domain. Times are in ms. */
export interface WaitingHost {
  readonly host: string
  readonly deliveries: number
  /** The number of these deliveries with a failed attempt. */
  readonly failing: number
  readonly oldestAt: number
  /** The time of the next attempt; absent while an attempt of each delivery is in progress. */
  readonly nextAt?: number | undefined
}

export interface MessageTiming {
  readonly channel: ChannelName
  /** The time of its arrival, in ms. */
  readonly at: number
  /** The time until its turn ended; absent while the turn is open. */
  readonly tookMs?: number | undefined
}

export interface OperatorStore {
  /** Lists messages, newest first. A search for text skips messages of more than 32 KiB. */
  listMessages(page: MessagePage): Promise<readonly MessageSummary[]>
  /** Finds the rows that the next page of a list covers; finding them costs no more than the rows of the page. */
  findListWindow(list: keyof typeof windowedLists, page: Pick<Page, 'after'> & ListPeriod): Promise<ListWindow>
  /**
   * Finds a message by the peer's id or by our number (`#12`). Ids are claims of peers, so several messages may have the same one. It returns the
   * first message of a verified sender, or else the first message, so that nobody can hide it with another one.
   */
  findMessage(id: string): Promise<MessageRecord | undefined>
  /** Lists conversations; the one that began last comes first. */
  listConversations(page: Page): Promise<readonly ConversationSummary[]>
  /** Returns true if this agent has ever answered, even if it is no longer configured. */
  hasAnswered(agent: string): Promise<boolean>
  /** Lists deliveries, newest first. */
  listDeliveries(page: DeliveryPage): Promise<readonly DeliveryRecord[]>
  /** Lists the hosts of open deliveries; those with the most deliveries come first. */
  listWaitingHosts(limit: number): Promise<readonly WaitingHost[]>
  /**
   * Lists the arrival times of messages since an instant (ISO 8601 UTC), newest first, with the time until each turn ended. `isWhole` is true if no
   * message is left out.
   */
  listTimings(page: {
    readonly since: string
    readonly limit: number
  }): Promise<{ readonly timings: readonly MessageTiming[]; readonly isWhole: boolean }>
  /**
   * Makes an unsent delivery due at once, even a dead or dismissed one. Returns false if there is none with this id, or if it was sent or its content
   * was withdrawn.
   */
  retryDelivery(id: string): Promise<boolean>
  /** Gives up an open delivery. Returns false if there is none with this id, or if it has ended. */
  dropDelivery(id: string): Promise<boolean>
  /** Dismisses a dead delivery: it stays on record and no longer counts as dead. Returns false if the delivery is not dead. */
  dismissDelivery(id: string): Promise<boolean>
  /** Lists refusals, newest first. The store has at most 10,000 of them. */
  listRefusals(page: RefusalPage): Promise<readonly (Refusal & { readonly number: number })[]>
  count(): Promise<StoreCounts>
}

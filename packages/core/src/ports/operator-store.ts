import type { ChannelName } from '../message/message.ts'
import type { DeliveryPage, ListPeriod, ListWindow, MessagePage, Page, RefusalPage } from './records/page.ts'
import type { DeliveryRecord, MessageRecord, MessageSummary, Refusal, StoreCounts } from './records/records.ts'

/** Lists of which one page looks at a bounded number of rows, each with the number of rows. */
export const windowedLists = { messages: 2_000, texts: 500, deliveries: 10_000, dead: 2_000 } as const

/** Open deliveries to one host, or to the mailboxes of one domain. Instants: ms. */
export interface WaitingHost {
  readonly host: string
  readonly deliveries: number
  /** Those of them with a failed attempt. */
  readonly failing: number
  readonly oldestAt: number
  /** Absent while all of them are being tried. */
  readonly nextAt?: number | undefined
}

export interface MessageTiming {
  readonly channel: ChannelName
  /** ms */
  readonly at: number
  /** Absent while it goes on. */
  readonly tookMs?: number | undefined
}

export interface OperatorStore {
  /** Newest first. Of messages of more than 32 KiB the text is not looked at. */
  listMessages(page: MessagePage): Promise<readonly MessageSummary[]>
  /** What the next page of a list looks at; finding it costs no more than the rows of the page. */
  findListWindow(list: keyof typeof windowedLists, page: Pick<Page, 'after'> & ListPeriod): Promise<ListWindow>
  /**
   * By the peer's id or by our number (`#12`). Ids are the peers' claims: of several messages of one id the first of a verified
   * sender is shown, else the first, so that nobody can hide it behind another one.
   */
  findMessage(id: string): Promise<MessageRecord | undefined>
  /** Newest first. */
  listDeliveries(page: DeliveryPage): Promise<readonly DeliveryRecord[]>
  /** Hosts that open deliveries go to, those with the most first. */
  listWaitingHosts(limit: number): Promise<readonly WaitingHost[]>
  /** Newest first: when messages came since an instant (ISO 8601 UTC), and how long each took until its turn was over. `isWhole`: none of them is left out. */
  listTimings(page: {
    readonly since: string
    readonly limit: number
  }): Promise<{ readonly timings: readonly MessageTiming[]; readonly isWhole: boolean }>
  /** A dead or waiting delivery is tried at once. False when there is none with this id, or it is sent. */
  retryDelivery(id: string): Promise<boolean>
  /** An undelivered delivery is given up. */
  dropDelivery(id: string): Promise<boolean>
  /** A dead letter needs nothing more: it stays on record and leaves the count of the dead. False when the delivery is not dead. */
  dismissDelivery(id: string): Promise<boolean>
  /** Newest first; there are no more than 10,000. */
  listRefusals(page: RefusalPage): Promise<readonly (Refusal & { readonly place: number })[]>
  count(): Promise<StoreCounts>
}

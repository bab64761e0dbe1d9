import type { Page } from './records/page.ts'
import type { DeliveryRecord, MessageRecord, MessageSummary, Refusal, StoreCounts } from './records/records.ts'

export interface OperatorStore {
  listMessages(page: Page): Promise<readonly MessageSummary[]>
  /**
   * By the peer's id or by our number (`#12`). Ids are the peers' claims: of several messages of one id the first of a verified
   * sender is shown, else the first, so that nobody can hide it behind another one.
   */
  findMessage(id: string): Promise<MessageRecord | undefined>
  listDeliveries(
    filter: Page & { readonly state?: DeliveryRecord['state'] | undefined },
  ): Promise<readonly DeliveryRecord[]>
  /** A dead or waiting delivery is tried at once. False when there is none with this id, or it is sent. */
  retryDelivery(id: string): Promise<boolean>
  /** An undelivered delivery is given up. */
  dropDelivery(id: string): Promise<boolean>
  /** A dead letter needs nothing more: it stays on record and leaves the count of the dead. False when the delivery is not dead. */
  dismissDelivery(id: string): Promise<boolean>
  listRefusals(page: Page): Promise<readonly (Refusal & { readonly place: number })[]>
  count(): Promise<StoreCounts>
}

// Declares the withdrawal of messages by their authors.

import type { ChannelName } from '@postern/message'
import type { AuthoredMessage, Authorship, Withdrawal } from '../records/relation.ts'

export interface WithdrawalStore {
  /**
   * Withdraws messages. Once it resolves, their content is deleted (entries, raw bytes, and bytes that nothing else refers to). Their ids stay, so
   * that a duplicate is still recognized. Open turns fail with `canceled`, and unsent deliveries become dead.
   */
  withdraw(via: ChannelName, withdrawals: readonly Withdrawal[]): Promise<void>
  /** Finds every message of this authorship that has not been withdrawn, one or more for each agent, oldest first. */
  findAuthored(via: ChannelName, authorship: Authorship): Promise<readonly AuthoredMessage[]>
}

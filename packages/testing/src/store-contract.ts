// Tests every store against each sentence of its port.
import { describe } from 'vitest'
import { actContract } from './store/deliveries/actions.ts'
import { bounceContract } from './store/deliveries/bounces.ts'
import { broadcastEndContract } from './store/deliveries/broadcast-ends.ts'
import { broadcastContract } from './store/deliveries/broadcasts.ts'
import { deliveryContract } from './store/deliveries/deliveries.ts'
import { reactionContract } from './store/deliveries/reactions.ts'
import { relationContract } from './store/deliveries/relations.ts'
import { withdrawnDeliveryContract } from './store/deliveries/withdrawn-deliveries.ts'
import { durabilityContract } from './store/engine/durability.ts'
import { listFilterContract } from './store/engine/list-filters.ts'
import { noticeContract } from './store/engine/notices.ts'
import { operatorContract } from './store/engine/operator.ts'
import { recordContract } from './store/engine/record.ts'
import { singleUseContract } from './store/engine/single-use.ts'
import { whyContract } from './store/engine/why.ts'
import { backgroundContract } from './store/messages/background.ts'
import { editContract } from './store/messages/edits.ts'
import { handledKeyContract } from './store/messages/handled-keys.ts'
import { intakeContract } from './store/messages/intake.ts'
import { knownConversationContract } from './store/messages/known-conversation.ts'
import { lookupContract } from './store/messages/lookup.ts'
import { loopContract } from './store/messages/loops.ts'
import { quotaContract } from './store/messages/quotas.ts'
import { pastLookupContract } from './store/messages/recorded-fetches.ts'
import { storageContract } from './store/messages/storage.ts'
import { threadContract } from './store/messages/threads.ts'
import { withdrawalContract } from './store/messages/withdrawals.ts'
import { peopleContract } from './store/people/people.ts'
import { decisionContract } from './store/requirements/decisions.ts'
import { overdueContract } from './store/requirements/overdue.ts'
import { rememberedContract } from './store/requirements/remembered.ts'
import { requirementContract } from './store/requirements/requirements.ts'
import type { OpenStore } from './store/setup/under-test.ts'
import { taskContract } from './store/tasks/tasks.ts'
import { continuedTurnContract } from './store/turns/continued-turns.ts'
import { firstTurnContract } from './store/turns/first-turns.ts'
import { interruptContract } from './store/turns/interrupting.ts'
import { noteContract } from './store/turns/notes.ts'
import { partialAnswerContract } from './store/turns/partial-answers.ts'
import { queueModeContract } from './store/turns/queue-modes.ts'
import { turnContract } from './store/turns/turns.ts'

export type { OpenStore } from './store/setup/under-test.ts'

const contracts: readonly ((openStore: OpenStore) => void)[] = [
  intakeContract,
  handledKeyContract,
  recordContract,
  threadContract,
  turnContract,
  firstTurnContract,
  continuedTurnContract,
  queueModeContract,
  interruptContract,
  editContract,
  deliveryContract,
  withdrawnDeliveryContract,
  actContract,
  reactionContract,
  partialAnswerContract,
  noteContract,
  broadcastContract,
  broadcastEndContract,
  backgroundContract,
  lookupContract,
  knownConversationContract,
  pastLookupContract,
  loopContract,
  taskContract,
  relationContract,
  quotaContract,
  storageContract,
  rememberedContract,
  peopleContract,
  bounceContract,
  withdrawalContract,
  requirementContract,
  decisionContract,
  overdueContract,
  singleUseContract,
  operatorContract,
  whyContract,
  listFilterContract,
  noticeContract,
  durabilityContract,
]

/**
 * Runs the tests that every store must pass: each sentence of the port, on a fresh store. `share` limits them to every `of`th part, beginning with
 * the `first`, for stores that take long to open.
 */
export function storeContract(name: string, openStore: OpenStore, share = { first: 0, of: 1 }): void {
  describe(`${name} keeps the contract of a store`, () => {
    for (const [index, contract] of contracts.entries()) if (index % share.of === share.first) contract(openStore)
  })
}

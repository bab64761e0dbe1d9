import { describe } from 'vitest'
import { actContract } from './store/actions.ts'
import { backgroundContract } from './store/background.ts'
import { bounceContract } from './store/bounces.ts'
import { broadcastContract } from './store/broadcasts.ts'
import { deliveryContract } from './store/deliveries.ts'
import { durabilityContract } from './store/durability.ts'
import { editContract } from './store/edits.ts'
import { intakeContract } from './store/intake.ts'
import { lookupContract } from './store/lookup.ts'
import { loopContract } from './store/loops.ts'
import { noteContract } from './store/notes.ts'
import { noticeContract } from './store/notices.ts'
import { onceContract } from './store/once.ts'
import { operatorContract } from './store/operator.ts'
import { overdueContract } from './store/overdue-requirements.ts'
import { partialAnswerContract } from './store/partial-answers.ts'
import { peopleContract } from './store/people.ts'
import { queueModeContract } from './store/queue-modes.ts'
import { reactionContract } from './store/reactions.ts'
import { relationContract } from './store/relations.ts'
import { rememberedContract } from './store/remembered.ts'
import { requirementContract } from './store/requirements.ts'
import { taskContract } from './store/tasks.ts'
import { threadContract } from './store/threads.ts'
import { turnContract } from './store/turns.ts'
import type { OpenStore } from './store/under-test.ts'
import { withdrawalContract } from './store/withdrawals.ts'

export { sketchDeletion, sketchPost } from './store/action-sketches.ts'
export type { OpenStore, StoreUnderTest } from './store/under-test.ts'
export { sketchAnswer, sketchIntake, sketchResponse } from './store/under-test.ts'

const parts: readonly ((open: OpenStore) => void)[] = [
  intakeContract,
  threadContract,
  turnContract,
  queueModeContract,
  editContract,
  deliveryContract,
  actContract,
  reactionContract,
  partialAnswerContract,
  noteContract,
  broadcastContract,
  backgroundContract,
  lookupContract,
  loopContract,
  taskContract,
  relationContract,
  rememberedContract,
  peopleContract,
  bounceContract,
  withdrawalContract,
  requirementContract,
  overdueContract,
  onceContract,
  operatorContract,
  noticeContract,
  durabilityContract,
]

/**
 * What every store must do: each sentence of the port, tried on a fresh desk. `share`: only every `of`th part, from the `first`; for desks that take
 * long to open.
 */
export function storeContract(name: string, open: OpenStore, share = { first: 0, of: 1 }): void {
  describe(`${name} keeps the contract of a store`, () => {
    for (const [at, part] of parts.entries()) if (at % share.of === share.first) part(open)
  })
}

import { describe } from 'vitest'
import { actContract } from './desk/acts.ts'
import { backgroundContract } from './desk/background.ts'
import { bounceContract } from './desk/bounces.ts'
import { broadcastContract } from './desk/broadcasts.ts'
import { deliveryContract } from './desk/deliveries.ts'
import { demandContract } from './desk/demands.ts'
import { durabilityContract } from './desk/durability.ts'
import { editContract } from './desk/edits.ts'
import { intakeContract } from './desk/intake.ts'
import { laneContract } from './desk/lanes.ts'
import { lookupContract } from './desk/lookup.ts'
import { loopContract } from './desk/loops.ts'
import { noteContract } from './desk/notes.ts'
import { noticeContract } from './desk/notices.ts'
import { onceContract } from './desk/once.ts'
import { operatorContract } from './desk/operator.ts'
import { overdueContract } from './desk/overdue-demands.ts'
import { peopleContract } from './desk/people.ts'
import { reactionContract } from './desk/reactions.ts'
import { relationContract } from './desk/relations.ts'
import { rememberedContract } from './desk/remembered.ts'
import { sayingContract } from './desk/sayings.ts'
import { taskContract } from './desk/tasks.ts'
import { threadContract } from './desk/threads.ts'
import { turnContract } from './desk/turns.ts'
import type { OpenDesk } from './desk/under-test.ts'
import { withdrawalContract } from './desk/withdrawals.ts'

export { sketchDeletion, sketchPost } from './desk/act-sketches.ts'
export type { DeskUnderTest, OpenDesk } from './desk/under-test.ts'
export { sketchAnswer, sketchIntake, sketchResponse } from './desk/under-test.ts'

const parts: readonly ((open: OpenDesk) => void)[] = [
  intakeContract,
  threadContract,
  turnContract,
  laneContract,
  editContract,
  deliveryContract,
  actContract,
  reactionContract,
  sayingContract,
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
  demandContract,
  overdueContract,
  onceContract,
  operatorContract,
  noticeContract,
  durabilityContract,
]

/**
 * What every desk must do: each sentence of the port, tried on a fresh desk. `share`: only every `of`th part, from the `first`; for desks that take
 * long to open.
 */
export function deskContract(name: string, open: OpenDesk, share = { first: 0, of: 1 }): void {
  describe(`${name} keeps the contract of a desk`, () => {
    for (const [at, part] of parts.entries()) if (at % share.of === share.first) part(open)
  })
}

// Lists the conflict keys of a commit.
import type { Answer, Turn } from '@postern/pipeline'
import {
  bytesConflict,
  destinationConflict,
  personConflict,
  taskConflict,
  threadConflict,
} from '../../transaction/conflict-keys.ts'

/** Lists the conflict keys of an ordinary answer, without the files that it releases. Returns undefined for an answer with actions, broadcasts or requirements, and for similar ones, because they may change any row. */
export function listCommitConflicts(
  { agent, thread, task, merged = [] }: Turn,
  answer: Answer,
): readonly string[] | undefined {
  const { acts = [], broadcasts = [], requirements = [], blobs = [], deliveries, personState } = answer
  // Each merged message may belong to another task.
  if ([acts, broadcasts, requirements, merged].some(list => list.length > 0)) return undefined
  if (answer.isRevision && !answer.response) return undefined
  return [
    threadConflict(thread),
    ...(task ? [taskConflict(task)] : []),
    ...deliveries.map(({ to }) => destinationConflict(thread, to)),
    ...blobs.map(({ digest }) => bytesConflict(digest)),
    ...(personState ? [personConflict(agent, personState.person)] : []),
  ]
}

/**
 * Returns true if an answer may be stored in the transaction of its message. That transaction locks neither files nor the state of people, and it has
 * no global lock.
 */
export function mayJoinAdmission(turn: Turn, answer: Answer): boolean {
  const { blobs = [], personState } = answer
  return blobs.length === 0 && !personState && listCommitConflicts(turn, answer) !== undefined
}

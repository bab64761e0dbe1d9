// Plans and queues the turns of new messages.
import type { Intake } from '@postern/pipeline'
import { addFirstMessage } from '../messages/first-messages.ts'
import type { MessageDraft } from '../messages/message-draft.ts'
import type { IntakeRefusal } from '../messages/refusals.ts'
import type { QueuedTurn } from '../queue/turns/enqueue-turn.ts'
import type { InProcessTurns, TurnSlot } from '../queue/turns/in-process-turns.ts'
import type { Operation } from '../sql/operation.ts'
import type { TaskTable } from '../tasks/task-table.ts'
import type { WatchTable } from '../tasks/watches.ts'
import type { AssignedThread } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import { digestAuthorship } from './authorship-digest.ts'
import type { EffectDeps } from './effects.ts'
import type { StoredContext } from './stored-context.ts'

interface PlanContext {
  readonly context: StoredContext
  readonly now: number
}

interface PlannedTurn {
  readonly task: number | undefined
  /** The slot of a turn that begins at once. */
  readonly slot: TurnSlot | undefined
  /** True if the task may have other turns or subscribers, whose operations read the row of this turn. */
  readonly sharesTask: boolean
}

interface NewTurn extends PlannedTurn {
  readonly message: number
  readonly assignedThread: AssignedThread
  readonly now: number
}

/** The tables of turns and of the tasks to which they belong. */
export interface TurnPlannerDeps extends Pick<EffectDeps, 'turns'> {
  readonly tasks: TaskTable
  readonly watches: WatchTable
  readonly inProcessTurns: InProcessTurns
}

interface TurnPlanner {
  /** Continues or begins the task of a message, and reserves a slot if its turn can begin at once. */
  planTurn(batch: Batch, draft: MessageDraft, planContext: PlanContext): Operation<PlannedTurn | IntakeRefusal>
  /** Queues the planned turn of a message that was inserted. */
  queueTurn(batch: Batch, draft: MessageDraft, turn: NewTurn): Operation<void>
}

/** The plan of a message that gets no turn. */
export const noTurn: PlannedTurn = { task: undefined, slot: undefined, sharesTask: false }

export function createTurnPlanner(tables: TurnPlannerDeps): TurnPlanner {
  return {
    *planTurn(batch, draft, planContext) {
      const slot = tables.inProcessTurns.reserveSlot(batch, draft, planContext.context.thread)
      const task = yield* continueTask(batch, draft.intake, { ...planContext, isLeased: slot !== undefined }, tables)
      return typeof task === 'string' ? task : { task, slot, sharesTask: mayShareTask(draft, planContext.context) }
    },
    *queueTurn(batch, draft, { message, assignedThread, task, slot, sharesTask, now }) {
      const { agent } = draft.intake
      const expiresAt = now + (slot?.consumer.leaseMs ?? 0)
      const lease = slot && { holder: slot.consumer.holder, expiresAt }
      const { thread } = assignedThread
      const turn = { message, agent, thread, task, now, ...queueColumnsOf(draft) }
      const continues = slot !== undefined && tables.inProcessTurns.mayContinue(batch, draft, slot)
      if (lease && continues && !sharesTask) tables.turns.begin(batch, { ...turn, lease })
      else yield* tables.turns.enqueue(batch, { ...turn, lease })
      const insertedMessage = { message, ...assignedThread, isOfTask: task !== undefined }
      if (slot) tables.inProcessTurns.begin(batch, slot, { draft, insertedMessage, expiresAt, continues })
      else addFirstMessage(batch, draft, insertedMessage)
    },
  }
}

function mayShareTask({ intake }: MessageDraft, { task }: StoredContext): boolean {
  return intake.task?.watch !== undefined || (task !== undefined && 'id' in task)
}

function* continueTask(
  batch: Batch,
  { task, agent, thread }: Intake,
  { context, now, isLeased }: PlanContext & { readonly isLeased: boolean },
  { tasks, watches }: Pick<TurnPlannerDeps, 'tasks' | 'watches'>,
): Operation<number | IntakeRefusal | undefined> {
  if (thread.joined && context.thread === undefined) return 'gone'
  const state = isLeased ? 'working' : 'submitted'
  const row =
    task && context.task && (yield* tasks.continueTask(batch, task, { existingTask: context.task, agent, now, state }))
  if (typeof row === 'number' && task?.watch) yield* watches.add(row, task.watch)
  return row
}

/** Returns the queue mode of a turn and the digest of its author and object. An edit has no queue mode. */
function queueColumnsOf({
  intake,
  queuePosition,
}: MessageDraft): Pick<QueuedTurn, 'queuePosition' | 'authorshipDigest'> {
  const { kind = 'message', policy_resolution } = intake.message
  if (kind !== 'message' && kind !== 'edit') return {}
  // A decision gets an answer of its own.
  const isInOrder = kind === 'edit' || policy_resolution !== undefined
  return { authorshipDigest: digestAuthorship(intake), queuePosition: isInOrder ? undefined : queuePosition }
}

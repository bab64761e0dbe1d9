// Admits messages in one transaction.
import type {
  AdmitResult,
  Blob,
  Intake,
  IntakeStore,
  RelationDecision,
  RelationStore,
  TaskKey,
} from '@postern/pipeline'
import { threadConflict } from '../batching/conflict-keys.ts'
import type { BlobTable } from '../blobs/blob-table.ts'
import { digestBlob, listSeparateBlobs } from '../blobs/blob-table.ts'
import { locateInRaw } from '../blobs/raw-part.ts'
import type { ForgetMessage } from '../forgetting/forget-message.ts'
import { addFirstMessage } from '../messages/first-messages.ts'
import { createMessageInserter } from '../messages/insert-message.ts'
import type { MessageDraft } from '../messages/message-draft.ts'
import { addFlag, countRowBytes, draftMessage } from '../messages/message-draft.ts'
import type { ReadMessage } from '../messages/read-message.ts'
import type { AdmitNewMessage, IntakeRefusal } from '../messages/refusals.ts'
import { refuseIntake } from '../messages/refusals.ts'
import type { HandledKeyTable } from '../peers/handled-keys.ts'
import type { ProofKeyTable } from '../peers/proof-keys.ts'
import type { RelationTable } from '../peers/relations.ts'
import type { WithdrawalTable } from '../peers/withdrawals.ts'
import type { DeliveryCause } from '../queue/deliveries/new-delivery.ts'
import type { QueuedTurn } from '../queue/turns/enqueue-turn.ts'
import type { InProcessTurns, TurnSlot } from '../queue/turns/in-process-turns.ts'
import type { RequirementTable } from '../requirements/requirement-table.ts'
import { readBatch } from '../sql/engine-defaults.ts'
import type { Sql } from '../sql/sql.ts'
import type { TaskTable } from '../tasks/task-table.ts'
import type { WatchTable } from '../tasks/watches.ts'
import type { EntryTable, StoredEntryScope } from '../threads/entries.ts'
import type { AssignedThread, ThreadTable } from '../threads/threads.ts'
import { nameScopeOf, viaOf } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { addTaskBytes, addToTotal } from '../transaction/totals.ts'
import type { EndedRelation } from './admission-conflicts.ts'
import { listAdmissionConflicts } from './admission-conflicts.ts'
import { digestAuthorship } from './authorship-digest.ts'
import type { BudgetTable } from './budgets.ts'
import { createDuplicateFinder } from './duplicates.ts'
import type { EditableMessage, EditTable } from './edits.ts'
import type { EffectDeps } from './effects.ts'
import { createEffects } from './effects.ts'
import { createQuotaCheck } from './exceeded-quota.ts'
import type { QuotaTable } from './quotas.ts'
import { countStoppedMessage } from './stopped-totals.ts'
import { createStorageCheck, storedSizeOf } from './storage-quota.ts'
import type { StoredContext } from './stored-context.ts'
import { createContextReader } from './stored-context.ts'

/** The maximum number of raw bytes in the row of a message. Larger raw bytes become a blob. */
const maxInlineBytes = 65_536

const noTurn: PlannedTurn = { task: undefined, slot: undefined }

type DecisionContext = Omit<DeliveryCause, 'response'>

/** The tables that admission reads and writes. */
interface AdmissionDeps extends EffectDeps {
  readonly threads: ThreadTable
  readonly entries: EntryTable
  readonly edits: EditTable
  readonly tasks: TaskTable
  readonly watches: WatchTable
  readonly requirements: RequirementTable
  readonly withdrawals: WithdrawalTable
  readonly budgets: BudgetTable
  readonly quotas: QuotaTable
  readonly blobs: BlobTable
  readonly proofKeys: ProofKeyTable
  readonly handledKeys: HandledKeyTable
  readonly readMessage: ReadMessage
  readonly inProcessTurns: InProcessTurns
  readonly forget: ForgetMessage
}

export function createAdmission(
  context: StoreContext,
  tables: AdmissionDeps,
): Pick<IntakeStore, 'admit'> & Pick<RelationStore, 'decide'> & { readonly admitNewMessage: AdmitNewMessage } {
  const { db, write, now, files } = context
  const readContext = createContextReader(db, tables, now)
  const applyDecision = createDecisionApplier(db, tables)
  const admitWithContext = createNewAdmission(context, tables, applyDecision)
  const admitDraft = createDraftAdmission(context, tables, { readContext, admitWithContext })
  return {
    async admit(intake, correlationId) {
      const { bytes } = intake.raw
      const rawBlob = bytes.byteLength > maxInlineBytes ? await digestBlob(bytes) : undefined
      const proofKeys = intake.proofKeys?.length ? tables.proofKeys.selectUncached(intake.proofKeys, now()) : []
      const blobs = intake.blobs?.length ? await locateInRaw(bytes, intake.blobs) : []
      const draft = draftMessage(intake, correlationId, { rawBlob, proofKeys, blobs })
      const storeDraft = () =>
        write(batch => admitDraft(batch, draft), {
          size: storedSizeOf(draft),
          conflictKeys: () => listAdmissionConflicts(draft),
        })
      const admitResult = await (draft.blobs.length > 0
        ? files.retainDuring(listDraftBlobs(draft), storeDraft)
        : storeDraft())
      if (typeof admitResult === 'string') throw refuseIntake(admitResult)
      if (admitResult.outcome === 'accepted' && proofKeys.length > 0) tables.proofKeys.cacheStored(proofKeys, now())
      return admitResult
    },
    admitNewMessage: (batch, draft) => admitWithContext(batch, draft, readContext(draft)),
    async decide(message, decision) {
      const { agent, via, thread } = tables.readMessage(message)
      await write(batch => applyDecision(batch, decision, { message, agent, channel: via, thread, now: now() }))
    },
  }
}

/** Lists the blobs that are stored apart from the raw bytes. For an edit these are all blobs, because they also belong to the message that it edits. */
function listDraftBlobs({ intake, blobs }: MessageDraft): readonly Blob[] {
  return intake.message.kind === 'edit' ? blobs : listSeparateBlobs(blobs)
}

/** Admits a message that is no duplicate. `context` contains the stored rows that concern the message. */
type AdmitWithContext = (batch: Batch, draft: MessageDraft, context: StoredContext) => AdmitResult | IntakeRefusal

interface DraftAdmissionDeps {
  readonly readContext: (draft: MessageDraft) => StoredContext
  readonly admitWithContext: AdmitWithContext
}

/** Prepares the admission of a message that may be a duplicate. */
function createDraftAdmission(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  { requirements, handledKeys }: Pick<AdmissionDeps, 'requirements' | 'handledKeys'>,
  { readContext, admitWithContext }: DraftAdmissionDeps,
): (batch: Batch, draft: MessageDraft) => AdmitResult | IntakeRefusal {
  const findDuplicate = createDuplicateFinder(db, { handledKeys, now })
  const findExceededQuota = createStorageCheck(db)
  const countDuplicate = db.prepare(
    'INSERT INTO duplicates (message, count) VALUES (?, 1) ON CONFLICT (message) DO UPDATE SET count = duplicates.count + 1',
  )

  /** Admits a message that is no duplicate, and resolves the requirement that it decides. If there is no such open requirement, the message is refused. */
  function admitWithDecision(batch: Batch, draft: MessageDraft, context: StoredContext): AdmitResult | IntakeRefusal {
    const { resolution } = draft.intake
    if (!resolution) return admitWithContext(batch, draft, context)
    const decisionContext = { thread: context.thread, now: now() }
    const requirement = requirements.findDecidedRequirement(draft.intake, resolution, decisionContext)
    if (typeof requirement === 'string') return requirement
    const admitResult = admitWithContext(batch, draft, context)
    if (typeof admitResult !== 'string') {
      requirements.resolve(requirement, resolution, decisionContext.now)
      noteChange(batch, 'requirement', requirement.message)
    }
    return admitResult
  }

  return (batch, draft) => {
    const { intake } = draft
    const [{ earlierMessage, isForgotten, totals }, context] = readBatch(db, [
      () => findDuplicate(draft),
      () => readContext(draft),
    ])
    if (!earlierMessage && isForgotten) return { outcome: 'forgotten', message: 0 }
    if (!earlierMessage) return findExceededQuota(batch, draft, totals) ?? admitWithDecision(batch, draft, context)
    if (
      intake.fingerprint !== undefined &&
      earlierMessage.fingerprint !== null &&
      earlierMessage.fingerprint !== intake.fingerprint
    ) {
      return { outcome: 'conflict', message: earlierMessage.number, task: earlierMessage.task }
    }
    countDuplicate.run(earlierMessage.number)
    return { outcome: 'duplicate', message: earlierMessage.number, task: earlierMessage.task }
  }
}

function createNewAdmission(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: AdmissionDeps,
  applyDecision: ApplyDecision,
): AdmitWithContext {
  const insertMessage = prepareMessageInsert(db, tables)
  const findExceededQuota = createQuotaCheck(db, tables)

  /** Finds the reason for which a message gets no turn. An edit of a waiting message gets none, because the turn of that message reads the new content. */
  function findRefusalReason(
    intake: Intake,
    { wantsTurn, editedMessage, assignedThread, at }: TurnRequest,
  ): string | undefined {
    if (editedMessage) return 'edit_applied'
    return wantsTurn ? findExceededQuota(intake, assignedThread, at) : undefined
  }

  function planTurn(batch: Batch, draft: MessageDraft, planContext: PlanContext): PlannedTurn | IntakeRefusal {
    const slot = tables.inProcessTurns.reserveSlot(batch, draft, planContext.context.thread)
    const task = continueTask(batch, draft.intake, { ...planContext, isLeased: slot !== undefined }, tables)
    return typeof task === 'string' ? task : { task, slot }
  }

  function queueTurn(batch: Batch, draft: MessageDraft, { message, assignedThread, task, slot, now }: NewTurn): void {
    const { agent } = draft.intake
    const lease = slot && { holder: slot.consumer.holder, expiresAt: now + slot.consumer.leaseMs }
    const { thread } = assignedThread
    tables.turns.enqueue(batch, { message, agent, thread, task, now, lease, ...queueColumnsOf(draft) })
    const insertedMessage = { message, ...assignedThread, isOfTask: task !== undefined }
    if (slot) tables.inProcessTurns.begin(batch, slot, { draft, insertedMessage })
    else addFirstMessage(batch, draft, insertedMessage)
  }

  return (batch, draft, context) => {
    const { intake } = draft
    const at = now()
    const { objection, keyUses } = context
    const wantsTurn = intake.disposition === 'answer' && !objection
    const turnPlan = wantsTurn ? planTurn(batch, draft, { context, now: at }) : noTurn
    if (typeof turnPlan === 'string') return turnPlan
    const { task } = turnPlan
    const assignedThread = assignMessageThread(batch, tables.threads, { intake, thread: context.thread })
    const { thread } = assignedThread
    const editedMessage = wantsTurn ? findEditedMessage(tables.edits, intake) : undefined
    const flag = objection ?? findRefusalReason(intake, { wantsTurn, assignedThread, editedMessage, at })
    const getsTurn = wantsTurn && flag === undefined
    const scope = chooseScope(intake, getsTurn)
    const message = insertMessage(batch, addFlag(draft, flag), { ...assignedThread, task, scope, at, keyUses })
    if (getsTurn) queueTurn(batch, draft, { ...turnPlan, message, assignedThread, now: at })
    else addToTotal(batch, 'messages.ignored')
    noteChange(batch, 'message', message)
    countStoppedMessage(batch, [flag, ...draft.flags])
    if (wantsTurn) replaceEditedContent(batch, tables.edits, { draft, editedMessage, message, at })
    if (objection === 'deleted') tables.forget(batch, message, at)
    else applyDecision(batch, intake, { message, thread, agent: intake.agent, channel: viaOf(intake), now: at })
    return { outcome: 'accepted', message, task: toTaskKey(intake.task, task) }
  }
}

/** Finds the waiting message that an edit changes. */
function findEditedMessage(edits: EditTable, intake: Intake): EditableMessage | undefined {
  return intake.message.kind === 'edit' ? edits.findEditable(intake) : undefined
}

interface NewEdit {
  readonly draft: MessageDraft
  readonly editedMessage: EditableMessage | undefined
  readonly message: number
  readonly at: number
}

/** Replaces the content of the messages that an edit changes. */
function replaceEditedContent(batch: Batch, edits: EditTable, { draft, editedMessage, message, at }: NewEdit): void {
  if (draft.intake.message.kind !== 'edit') return
  if (editedMessage) edits.apply(batch, editedMessage, draft, at)
  edits.replaceEarlierContent(batch, message, draft, at)
}

/** Finds or begins the thread of a message. A new thread needs no reservation, because no other transaction can see it. */
function assignMessageThread(
  batch: Batch,
  threads: Pick<ThreadTable, 'assignThread'>,
  { intake, thread }: { readonly intake: Intake; readonly thread: number | undefined },
): AssignedThread {
  if (thread !== undefined) batch.reserve(threadConflict(thread))
  return threads.assignThread(batch, intake, thread)
}

function continueTask(
  batch: Batch,
  { task, agent, thread }: Intake,
  { context, now, isLeased }: PlanContext & { readonly isLeased: boolean },
  { tasks, watches }: Pick<AdmissionDeps, 'tasks' | 'watches'>,
): number | IntakeRefusal | undefined {
  if (thread.joined && context.thread === undefined) return 'gone'
  const state = isLeased ? 'working' : 'submitted'
  const row = task && context.task && tasks.continueTask(batch, task, { existingTask: context.task, agent, now, state })
  if (typeof row === 'number' && task?.watch) watches.add(row, task.watch)
  return row
}

/** Prepares the insertion of a message with its blobs, its names and the keys of its proofs. */
function prepareMessageInsert(
  db: Sql,
  { blobs, threads, proofKeys }: Pick<AdmissionDeps, 'blobs' | 'threads' | 'proofKeys'>,
) {
  const insertMessage = createMessageInserter(db)
  return (batch: Batch, draft: MessageDraft, position: MessageInsert): number => {
    const { intake } = draft
    const message = insertMessage(draft, position)
    const blobBytes = draft.blobs.length > 0 ? blobs.insertAll(draft.blobs, message, draft.storedBy) : 0
    if (intake.task && position.task !== undefined)
      addTaskBytes(batch, intake.task.owner, countRowBytes(draft) + blobBytes)
    const messageNames = { message, id: intake.message.id, aliases: intake.aliases }
    threads.addNames(position, nameScopeOf(intake), messageNames)
    if (draft.proofKeys.length > 0) proofKeys.upsertAll(draft.proofKeys, position.keyUses, position.at)
    return message
  }
}

type ApplyDecision = (batch: Batch, decision: Partial<RelationDecision>, cause: DecisionContext) => void

function createDecisionApplier(db: Sql, tables: EffectDeps): ApplyDecision {
  const applyEffect = createEffects(db, tables)
  return (batch, { deliveries = [], effects = [] }, cause) => {
    tables.deliveries.enqueue(batch, deliveries, { ...cause, response: undefined })
    for (const effect of effects) {
      // This is the only effect of ordinary messages.
      if (effect.kind === 'unrelate') endRelation(tables.relations, effect, cause)
      else applyEffect(batch, effect, cause)
    }
  }
}

function endRelation(
  relations: RelationTable,
  { relation, peer }: EndedRelation,
  { agent, channel: via }: DecisionContext,
): void {
  relations.unrelate({ agent, via, relation, peer })
}

/** Returns the key of a task that has a row. */
function toTaskKey(task: TaskKey | undefined, row: number | undefined): TaskKey | undefined {
  return task && row !== undefined ? { owner: task.owner, id: task.id } : undefined
}

/** Chooses the scope of a message. The history of an agent contains messages and edits, but no other events. */
function chooseScope({ message: { kind = 'message' } }: Intake, getsTurn: boolean): StoredEntryScope {
  if (!getsTurn) return 'kept'
  return kind === 'message' || kind === 'edit' ? 'conversation' : 'event'
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

interface MessageInsert extends AssignedThread {
  readonly at: number
  readonly task: number | undefined
  readonly scope: StoredEntryScope
  readonly keyUses: StoredContext['keyUses']
}

interface TurnRequest {
  readonly wantsTurn: boolean
  readonly assignedThread: AssignedThread
  readonly editedMessage: EditableMessage | undefined
  readonly at: number
}

interface PlanContext {
  readonly context: StoredContext
  readonly now: number
}

interface PlannedTurn {
  readonly task: number | undefined
  /** The slot of a turn that begins at once. */
  readonly slot: TurnSlot | undefined
}

interface NewTurn extends PlannedTurn {
  readonly message: number
  readonly assignedThread: AssignedThread
  readonly now: number
}

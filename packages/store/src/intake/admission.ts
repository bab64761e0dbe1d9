// Admits messages in one transaction.
import type {
  AdmitResult,
  Blob,
  Intake,
  IntakeStore,
  RelationDecision,
  RelationEffect,
  RelationStore,
  TaskKey,
} from '@postern/pipeline'
import type { BlobTable } from '../blobs/blob-table.ts'
import { digestBlob, listSeparateBlobs } from '../blobs/blob-table.ts'
import { locateInRaw } from '../blobs/raw-part.ts'
import type { ForgetMessage } from '../forgetting/forget-message.ts'
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
import type { RequirementTable } from '../requirements/requirement-table.ts'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { EntryTable, StoredEntryScope } from '../threads/entries.ts'
import type { AssignedThread, ThreadTable } from '../threads/threads.ts'
import { nameScopeOf, viaOf } from '../threads/threads.ts'
import type { Batch } from '../transaction/batch.ts'
import { threadConflict } from '../transaction/conflict-keys.ts'
import { noteChange } from '../transaction/notices.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { addTaskBytes, addToTotal } from '../transaction/totals.ts'
import { writeTurns } from '../transaction/unwritten-turns.ts'
import type { EndedRelation } from './admission-conflicts.ts'
import { listAdmissionConflicts } from './admission-conflicts.ts'
import type { BudgetTable } from './budgets.ts'
import { createDuplicateFinder } from './duplicates.ts'
import type { EditableMessage, EditTable } from './edits.ts'
import type { EffectDeps } from './effects.ts'
import { createEffects } from './effects.ts'
import { createQuotaCheck } from './exceeded-quota.ts'
import type { QuotaTable } from './quotas.ts'
import { countStoppedMessage } from './stopped-totals.ts'
import { createStorageCheck, storedSizeOf } from './storage-quota.ts'
import type { ReadStoredContext, StoredContext } from './stored-context.ts'
import { createContextReader } from './stored-context.ts'
import type { TurnPlannerDeps } from './turn-planner.ts'
import { createTurnPlanner, noTurn } from './turn-planner.ts'

/** The maximum number of raw bytes in the row of a message. Larger raw bytes become a blob. */
const maxInlineBytes = 65_536

type DecisionContext = Omit<DeliveryCause, 'response'>

/** The tables that admission reads and writes. */
interface AdmissionDeps extends EffectDeps, TurnPlannerDeps {
  readonly threads: ThreadTable
  readonly entries: EntryTable
  readonly edits: EditTable
  readonly requirements: RequirementTable
  readonly withdrawals: WithdrawalTable
  readonly budgets: BudgetTable
  readonly quotas: QuotaTable
  readonly blobs: BlobTable
  readonly proofKeys: ProofKeyTable
  readonly handledKeys: HandledKeyTable
  readonly readMessage: ReadMessage
  readonly forget: ForgetMessage
}

export function createAdmission(
  context: StoreContext,
  tables: AdmissionDeps,
): Pick<IntakeStore, 'admit'> & Pick<RelationStore, 'decide'> & { readonly admitNewMessage: AdmitNewMessage } {
  const { db, write, now, files } = context
  const readContext = createContextReader(tables, now)
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
          sparesTurns: true,
          conflictKeys: () => listAdmissionConflicts(draft),
        })
      const admitResult = await (draft.blobs.length > 0
        ? files.retainDuring(listDraftBlobs(draft), storeDraft)
        : storeDraft())
      if (typeof admitResult === 'string') throw refuseIntake(admitResult)
      if (admitResult.outcome === 'accepted' && proofKeys.length > 0) tables.proofKeys.cacheStored(proofKeys, now())
      return admitResult
    },
    *admitNewMessage(batch, draft) {
      return yield* admitWithContext(batch, draft, yield* readContext(draft))
    },
    async decide(message, decision) {
      const { agent, via, thread } = await context.db.read(() => tables.readMessage(message))
      await write(batch => applyDecision(batch, decision, { message, agent, channel: via, thread, now: now() }))
    },
  }
}

/** Lists the blobs that are stored apart from the raw bytes. For an edit these are all blobs, because they also belong to the message that it edits. */
function listDraftBlobs({ intake, blobs }: MessageDraft): readonly Blob[] {
  return intake.message.kind === 'edit' ? blobs : listSeparateBlobs(blobs)
}

/** Admits a message that is no duplicate. `context` contains the stored rows that concern the message. */
type AdmitWithContext = (
  batch: Batch,
  draft: MessageDraft,
  context: StoredContext,
) => Operation<AdmitResult | IntakeRefusal>

interface DraftAdmissionDeps {
  readonly readContext: ReadStoredContext
  readonly admitWithContext: AdmitWithContext
}

/** Prepares the admission of a message that may be a duplicate. */
function createDraftAdmission(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  { requirements, handledKeys, threads }: Pick<AdmissionDeps, 'requirements' | 'handledKeys' | 'threads'>,
  { readContext, admitWithContext }: DraftAdmissionDeps,
): (batch: Batch, draft: MessageDraft) => Operation<AdmitResult | IntakeRefusal> {
  const findDuplicate = createDuplicateFinder(db, { handledKeys, now })
  const findExceededQuota = createStorageCheck(db)
  const countDuplicate = db.prepare(
    'INSERT INTO duplicates (message, count) VALUES (?, 1) ON CONFLICT (message) DO UPDATE SET count = duplicates.count + 1',
  )

  /** Admits a message that is no duplicate, and resolves the requirement that it decides. If there is no such open requirement, the message is refused. */
  function* admitWithDecision(
    batch: Batch,
    draft: MessageDraft,
    context: StoredContext,
  ): Operation<AdmitResult | IntakeRefusal> {
    const { resolution } = draft.intake
    if (!resolution) return yield* admitWithContext(batch, draft, context)
    const decisionContext = { thread: context.thread, now: now() }
    const requirement = yield* requirements.findDecidedRequirement(draft.intake, resolution, decisionContext)
    if (typeof requirement === 'string') return requirement
    const admitResult = yield* admitWithContext(batch, draft, context)
    if (typeof admitResult !== 'string') {
      yield* requirements.resolve(requirement, resolution, decisionContext.now)
      noteChange(batch, 'requirement', requirement.message)
    }
    return admitResult
  }

  return function* (batch, draft) {
    const { intake } = draft
    const [{ earlierMessage, isForgotten, totals, threadOfKey }, storedContext] = yield* runTogether([
      () => findDuplicate(draft),
      () => readContext(draft, threads.findReferenced),
    ])
    const context = { ...storedContext, thread: storedContext.thread ?? threadOfKey }
    if (!earlierMessage && isForgotten) return { outcome: 'forgotten', message: 0 }
    if (!earlierMessage && !sparesTurns(intake, context)) writeTurns(batch)
    if (!earlierMessage)
      return findExceededQuota(batch, draft, totals) ?? (yield* admitWithDecision(batch, draft, context))
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

/** Returns true for an effect on relations alone. The author of a block cancels turns, and a bounce settles a delivery. */
function isHarmless(effect: RelationEffect): boolean {
  return effect.kind === 'unrelate' || (effect.kind === 'relate' && effect.relation !== 'blocked_by')
}

/** Returns true if the admission of a message neither reads nor changes the turns of other messages. */
function sparesTurns(
  { message, resolution, effects = [] }: Intake,
  { thread, task, objection }: StoredContext,
): boolean {
  const beginsTask = task === undefined || 'capacity' in task
  const isOrdinary = (message.kind ?? 'message') === 'message' && !resolution && !objection
  return isOrdinary && beginsTask && thread === undefined && effects.every(isHarmless)
}

function createNewAdmission(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: AdmissionDeps,
  applyDecision: ApplyDecision,
): AdmitWithContext {
  const insertMessage = prepareMessageInsert(db, tables)
  const findExceededQuota = createQuotaCheck(db, tables)
  const { planTurn, queueTurn } = createTurnPlanner(tables)

  /** Finds the reason for which a message gets no turn. An edit of a waiting message gets none, because the turn of that message reads the new content. */
  function* findRefusalReason(
    intake: Intake,
    { wantsTurn, editedMessage, assignedThread, at }: TurnRequest,
  ): Operation<string | undefined> {
    if (editedMessage) return 'edit_applied'
    return wantsTurn ? yield* findExceededQuota(intake, assignedThread, at) : undefined
  }

  return function* (batch, draft, context) {
    const { intake } = draft
    const at = now()
    const { objection, keyUses } = context
    const wantsTurn = intake.disposition === 'answer' && !objection
    const turnPlan = wantsTurn ? yield* planTurn(batch, draft, { context, now: at }) : noTurn
    if (typeof turnPlan === 'string') return turnPlan
    const { task } = turnPlan
    const assignedThread = yield* assignMessageThread(batch, tables.threads, { intake, thread: context.thread })
    const { thread } = assignedThread
    const editedMessage = wantsTurn ? yield* findEditedMessage(tables.edits, intake) : undefined
    const flag = objection ?? (yield* findRefusalReason(intake, { wantsTurn, assignedThread, editedMessage, at }))
    const getsTurn = wantsTurn && flag === undefined
    const scope = chooseScope(intake, getsTurn)
    const message = yield* insertMessage(batch, addFlag(draft, flag), { ...assignedThread, task, scope, at, keyUses })
    if (getsTurn) yield* queueTurn(batch, draft, { ...turnPlan, message, assignedThread, now: at })
    else addToTotal(batch, 'messages.ignored')
    noteChange(batch, 'message', message)
    countStoppedMessage(batch, [flag, ...draft.flags])
    if (wantsTurn) yield* replaceEditedContent(batch, tables.edits, { draft, editedMessage, message, at })
    if (objection === 'deleted') yield* tables.forget(batch, message, at)
    else yield* applyDecision(batch, intake, { message, thread, agent: intake.agent, channel: viaOf(intake), now: at })
    return { outcome: 'accepted', message, task: toTaskKey(intake.task, task) }
  }
}

/** Finds the waiting message that an edit changes. */
function* findEditedMessage(edits: EditTable, intake: Intake): Operation<EditableMessage | undefined> {
  return intake.message.kind === 'edit' ? yield* edits.findEditable(intake) : undefined
}

interface NewEdit {
  readonly draft: MessageDraft
  readonly editedMessage: EditableMessage | undefined
  readonly message: number
  readonly at: number
}

/** Replaces the content of the messages that an edit changes. */
function* replaceEditedContent(
  batch: Batch,
  edits: EditTable,
  { draft, editedMessage, message, at }: NewEdit,
): Operation<void> {
  if (draft.intake.message.kind !== 'edit') return
  if (editedMessage) yield* edits.apply(batch, editedMessage, draft, at)
  yield* edits.replaceEarlierContent(batch, message, draft, at)
}

/** Finds or begins the thread of a message. A new thread needs no reservation, because no other transaction can see it. */
function* assignMessageThread(
  batch: Batch,
  threads: Pick<ThreadTable, 'assignThread'>,
  { intake, thread }: { readonly intake: Intake; readonly thread: number | undefined },
): Operation<AssignedThread> {
  if (thread !== undefined) yield* batch.reserve(threadConflict(thread))
  return yield* threads.assignThread(intake, thread)
}

/** Prepares the insertion of a message with its blobs, its names and the keys of its proofs. */
function prepareMessageInsert(
  db: Sql,
  { blobs, threads, proofKeys }: Pick<AdmissionDeps, 'blobs' | 'threads' | 'proofKeys'>,
) {
  const insertMessage = createMessageInserter(db)
  return function* (batch: Batch, draft: MessageDraft, position: MessageInsert): Operation<number> {
    const { intake } = draft
    const message = yield* insertMessage(draft, position)
    const blobBytes = draft.blobs.length > 0 ? yield* blobs.insertAll(draft.blobs, message, draft.storedBy) : 0
    if (intake.task && position.task !== undefined)
      addTaskBytes(batch, intake.task.owner, countRowBytes(draft) + blobBytes)
    const messageNames = { message, id: intake.message.id, aliases: intake.aliases }
    threads.addNames(position, nameScopeOf(intake), messageNames)
    if (draft.proofKeys.length > 0) proofKeys.upsertAll(draft.proofKeys, position.keyUses, position.at)
    return message
  }
}

type ApplyDecision = (batch: Batch, decision: Partial<RelationDecision>, cause: DecisionContext) => Operation<void>

function createDecisionApplier(db: Sql, tables: EffectDeps): ApplyDecision {
  const applyEffect = createEffects(db, tables)
  return function* (batch, { deliveries = [], effects = [] }, cause) {
    yield* tables.deliveries.enqueue(batch, deliveries, { ...cause, response: undefined })
    for (const effect of effects) {
      // This is the only effect of ordinary messages.
      if (effect.kind === 'unrelate') endRelation(tables.relations, effect, cause)
      else yield* applyEffect(batch, effect, cause)
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

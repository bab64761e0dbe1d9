import type { Admitted, Decision, Intake, IntakeStore, RelationStore, TaskKey } from '@postern/core'
import type { BlobTable } from '../blobs/table.ts'
import { digestBlob } from '../blobs/table.ts'
import type { EntryTable, StoredEntryScope } from '../conversations/entries.ts'
import type { PlacedThread, ThreadTable } from '../conversations/threads.ts'
import { nameScopeOf, viaOf } from '../conversations/threads.ts'
import type { NewDelivery } from '../deliveries/queue.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { addTaskBytes, addToTotal, noteChange, readTogether } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { ForgetMessage } from '../forgetting/forget.ts'
import type { AdmitNew, IntakeRefusal } from '../messages/refusals.ts'
import { refuseIntake } from '../messages/refusals.ts'
import type { MessageDraft, ReadMessage } from '../messages/table.ts'
import { addFlag, createMessageInserter, draftIntake, noteFirst, sizeOf } from '../messages/table.ts'
import type { ProofKeyTable, RelationTable, WithdrawalTable } from '../peers/senders.ts'
import type { RequirementTable } from '../requirements/table.ts'
import type { TaskTable } from '../tasks/table.ts'
import type { WatchTable } from '../tasks/watches.ts'
import { touchedThread } from '../together/touched.ts'
import type { QueuedTurn } from '../turns/queue.ts'
import type { TurnOffer, TurnSlot } from '../turns/turn-offer.ts'
import type { EditTable, EffectDeps, OpenWords } from './effects.ts'
import { createEffects } from './effects.ts'
import type { BudgetTable, Found, QuotaTable } from './look-up.ts'
import { countStopped, createExcessFinder, createFirstFinder, createLookUp, digestWords } from './look-up.ts'
import type { EndedRelation } from './touched.ts'
import { listTouched } from './touched.ts'

/** Larger raw bytes live among the blobs. */
const inlineLimit = 65_536

type Cause = Omit<NewDelivery, 'response'>

/** What admitting a message writes to, and what it asks. */
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
  readonly readMessage: ReadMessage
  readonly turnOffer: TurnOffer
  readonly forget: ForgetMessage
}

export function createAdmission(
  context: StoreContext,
  tables: AdmissionDeps,
): Pick<IntakeStore, 'admit'> & Pick<RelationStore, 'decide'> & { readonly admitNew: AdmitNew } {
  const { db, write, now, files } = context
  const lookUp = createLookUp(db, tables, now)
  const takeEffect = createEffectTaking(db, tables)
  const admitFound = createNewAdmission(context, tables, takeEffect)
  const admitDraft = createDraftAdmission(context, tables, { lookUp, admitFound })
  return {
    async admit(intake, correlationId) {
      const { bytes } = intake.raw
      const rawBlob = bytes.byteLength > inlineLimit ? await digestBlob(bytes) : undefined
      const proofKeys = intake.proofKeys?.length ? tables.proofKeys.choose(intake.proofKeys, now()) : []
      const draft = draftIntake(intake, correlationId, { rawBlob, proofKeys })
      const storeDraft = () =>
        write(batch => admitDraft(batch, draft), {
          size: draft.entry.content.length,
          touches: () => listTouched(draft),
        })
      const admitted = await (draft.blobs.length > 0 ? files.hold(draft.blobs, storeDraft) : storeDraft())
      if (typeof admitted === 'string') throw refuseIntake(admitted)
      if (admitted.outcome === 'accepted' && proofKeys.length > 0) tables.proofKeys.noteStored(proofKeys, now())
      return admitted
    },
    admitNew: (batch, draft) => admitFound(batch, draft, lookUp(draft)),
    async decide(message, decision) {
      const { agent, via, thread } = tables.readMessage(message)
      await write(batch => takeEffect(batch, decision, { message, agent, channel: via, thread, now: now() }))
    },
  }
}

/** Admits a message that has not come before; `found`: what is stored of it. */
type AdmitFound = (batch: Batch, draft: MessageDraft, found: Found) => Admitted | IntakeRefusal

interface DraftAdmissionDeps {
  readonly lookUp: (draft: MessageDraft) => Found
  readonly admitFound: AdmitFound
}

/** Admits a message that may have come before. */
function createDraftAdmission(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  { requirements }: Pick<AdmissionDeps, 'requirements'>,
  { lookUp, admitFound }: DraftAdmissionDeps,
): (batch: Batch, draft: MessageDraft) => Admitted | IntakeRefusal {
  const findFirst = createFirstFinder(db)
  const countDuplicate = db.prepare(
    'INSERT INTO duplicates (message, count) VALUES (?, 1) ON CONFLICT (message) DO UPDATE SET count = duplicates.count + 1',
  )

  /** A message that decides a requirement uses it up, or is not taken. */
  function admitFirst(batch: Batch, draft: MessageDraft, found: Found): Admitted | IntakeRefusal {
    const { resolution } = draft.intake
    if (!resolution) return admitFound(batch, draft, found)
    const place = { thread: found.thread, now: now() }
    const requirement = requirements.findDecided(draft.intake, resolution, place)
    if (typeof requirement === 'string') return requirement
    const admitted = admitFound(batch, draft, found)
    if (typeof admitted !== 'string') {
      requirements.use(requirement, resolution, place.now)
      noteChange(batch, 'requirement', requirement.message)
    }
    return admitted
  }

  return (batch, draft) => {
    const { intake } = draft
    const [first, found] = readTogether(db, [() => findFirst(intake), () => lookUp(draft)])
    if (!first) return admitFirst(batch, draft, found)
    if (intake.fingerprint !== undefined && first.fingerprint !== null && first.fingerprint !== intake.fingerprint) {
      return { outcome: 'conflict', message: first.number, task: first.task }
    }
    countDuplicate.run(first.number)
    return { outcome: 'duplicate', message: first.number, task: first.task }
  }
}

function createNewAdmission(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: AdmissionDeps,
  takeEffect: TakeEffect,
): AdmitFound {
  const keep = createMessageKeeping(db, tables)
  const findExcess = createExcessFinder(db, tables)

  /** Why a message that may have a turn gets none. What changes a message that waits is read in its place. */
  function findHindrance(intake: Intake, { wantsTurn, words, place, at }: TurnWish): string | undefined {
    if (words) return 'edit_applied'
    return wantsTurn ? findExcess(intake, place, at) : undefined
  }

  function planTurn(batch: Batch, draft: MessageDraft, at: PlanMoment): PlannedTurn | IntakeRefusal {
    const slot = tables.turnOffer.keepSlot(batch, draft, at.found.thread)
    const task = continueTask(batch, draft.intake, { ...at, isLeased: slot !== undefined }, tables)
    return typeof task === 'string' ? task : { task, slot }
  }

  function queueTurn(batch: Batch, draft: MessageDraft, { message, place, task, slot, now }: NewTurn): void {
    const { agent } = draft.intake
    const lease = slot && { holder: slot.taker.holder, until: now + slot.taker.leaseMs }
    const { thread } = place
    tables.turns.queue(batch, { message, agent, thread, task, now, lease, ...standingOf(draft) })
    const noted = { message, ...place, isOfTask: task !== undefined }
    if (slot) tables.turnOffer.begin(batch, slot, { draft, noted })
    else noteFirst(batch, draft, noted)
  }

  return (batch, draft, found) => {
    const { intake } = draft
    const at = now()
    const { objection } = found
    const wantsTurn = intake.disposition === 'answer' && !objection
    const wish = wantsTurn ? planTurn(batch, draft, { found, now: at }) : noTurn
    if (typeof wish === 'string') return wish
    const { task } = wish
    const place = takePlace(batch, tables.threads, { intake, thread: found.thread })
    const { thread } = place
    const words = wantsTurn ? findEdited(tables.edits, intake) : undefined
    const flag = objection ?? findHindrance(intake, { wantsTurn, place, words, at })
    const isTurn = wantsTurn && flag === undefined
    const scope = scopeOf(intake, isTurn)
    const message = keep(batch, addFlag(draft, flag), { ...place, task, scope, at, keyUses: found.keyUses })
    if (isTurn) queueTurn(batch, draft, { ...wish, message, place, now: at })
    else addToTotal(batch, 'messages.ignored')
    noteChange(batch, 'message', message)
    countStopped(batch, [flag, ...draft.flags])
    if (words) tables.edits.apply(batch, words, draft, at)
    if (objection === 'deleted') tables.forget(batch, message, at)
    else takeEffect(batch, intake, { message, thread, agent: intake.agent, channel: viaOf(intake), now: at })
    return { outcome: 'accepted', message, task: keyOf(intake.task, task) }
  }
}

/** The words of a message that waits, which this one changes. */
function findEdited(edits: EditTable, intake: Intake): OpenWords | undefined {
  return intake.message.kind === 'edit' ? edits.findOpen(intake) : undefined
}

/** Nobody else knows of a thread that begins. */
function takePlace(
  batch: Batch,
  threads: Pick<ThreadTable, 'place'>,
  { intake, thread }: { readonly intake: Intake; readonly thread: number | undefined },
): PlacedThread {
  if (thread !== undefined) batch.reserve(touchedThread(thread))
  return threads.place(intake, thread)
}

function continueTask(
  batch: Batch,
  { task, agent, thread }: Intake,
  { found, now, isLeased }: PlanMoment & { readonly isLeased: boolean },
  { tasks, watches }: Pick<AdmissionDeps, 'tasks' | 'watches'>,
): number | IntakeRefusal | undefined {
  if (thread.joined && found.thread === undefined) return 'gone'
  const state = isLeased ? 'working' : 'submitted'
  const row = task && found.task && tasks.continueTask(batch, task, { known: found.task, agent, now, state })
  if (typeof row === 'number' && task?.watch) watches.add(row, task.watch)
  return row
}

/** Writes a message, its bytes, its names and the keys that proved it. */
function createMessageKeeping(
  db: Sql,
  { blobs, threads, proofKeys }: Pick<AdmissionDeps, 'blobs' | 'threads' | 'proofKeys'>,
) {
  const insertMessage = createMessageInserter(db)
  return (batch: Batch, draft: MessageDraft, place: MessagePlace): number => {
    const { intake } = draft
    const message = insertMessage(draft, place)
    const blobBytes = draft.blobs.length > 0 ? blobs.keepAll(draft.blobs, message) : 0
    if (intake.task && place.task !== undefined) addTaskBytes(batch, intake.task.owner, sizeOf(draft) + blobBytes)
    const naming = { message, id: intake.message.id, aliases: intake.aliases }
    threads.addNames(place, nameScopeOf(intake), naming)
    if (draft.proofKeys.length > 0) proofKeys.keep(draft.proofKeys, place.keyUses, place.at)
    return message
  }
}

type TakeEffect = (batch: Batch, decision: Partial<Decision>, cause: Cause) => void

function createEffectTaking(db: Sql, tables: EffectDeps): TakeEffect {
  const applyEffect = createEffects(db, tables)
  return (batch, { deliveries = [], effects = [] }, cause) => {
    tables.deliveries.queue(batch, deliveries, { ...cause, response: undefined })
    for (const effect of effects) {
      // What an ordinary message does.
      if (effect.kind === 'unrelate') endRelation(tables.relations, effect, cause)
      else applyEffect(batch, effect, cause)
    }
  }
}

function endRelation(
  relations: RelationTable,
  { relation, peer }: EndedRelation,
  { agent, channel: via }: Cause,
): void {
  relations.unrelate({ agent, via, relation, peer })
}

/** Of a task that there is a row of. */
function keyOf(task: TaskKey | undefined, row: number | undefined): TaskKey | undefined {
  return task && row !== undefined ? { owner: task.owner, id: task.id } : undefined
}

/** What was said is recalled later; what merely happened is not. */
function scopeOf({ message: { kind = 'message' } }: Intake, isTurn: boolean): StoredEntryScope {
  if (!isTurn) return 'kept'
  return kind === 'message' || kind === 'edit' ? 'conversation' : 'event'
}

/** An edit that has a turn of its own stands in its order. */
function standingOf({ intake, lane }: MessageDraft): Pick<QueuedTurn, 'lane' | 'words'> {
  const { kind = 'message', policy_resolution } = intake.message
  if (kind !== 'message' && kind !== 'edit') return {}
  // A decision is answered by itself.
  const isInOrder = kind === 'edit' || policy_resolution !== undefined
  return { words: digestWords(intake), lane: isInOrder ? undefined : lane }
}

interface MessagePlace extends PlacedThread {
  readonly at: number
  readonly task: number | undefined
  readonly scope: StoredEntryScope
  readonly keyUses: Found['keyUses']
}

interface TurnWish {
  readonly wantsTurn: boolean
  readonly place: PlacedThread
  readonly words: OpenWords | undefined
  readonly at: number
}

interface PlanMoment {
  readonly found: Found
  readonly now: number
}

interface PlannedTurn {
  readonly task: number | undefined
  /** Kept for it: it begins at once. */
  readonly slot: TurnSlot | undefined
}

const noTurn: PlannedTurn = { task: undefined, slot: undefined }

interface NewTurn extends PlannedTurn {
  readonly message: number
  readonly place: PlacedThread
  readonly now: number
}

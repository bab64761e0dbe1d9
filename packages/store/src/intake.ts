import type { DatabaseSync } from 'node:sqlite'
import type { Admitted, Blob, Intake, IntakeDesk, TaskKey } from '@postern/core'
import { Rejection } from '@postern/core'
import type { Batch } from './batch.ts'
import { addToTotal } from './batch.ts'
import { digestBlob } from './blobs.ts'
import { formatJson, prepareQuery } from './database.ts'
import type { EntryDraft } from './entries.ts'
import { readTaskKey } from './messages.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'
import { nameScopeOf } from './threads.ts'

/** Larger raw bytes live among the blobs. */
const inlineLimit = 65_536

/** An intake as its columns, made before the transaction so that it holds only statements. */
interface Draft {
  readonly intake: Intake
  readonly correlationId: string
  readonly entry: EntryDraft
  readonly envelope: string
  readonly proofs: string
  readonly flags: string | null
  readonly target: string
  /** The raw bytes, when they are too large for the row. */
  readonly rawBlob: Blob | undefined
  readonly blobs: readonly Blob[]
}

export function createAdmission({ db, write, now }: Store, tables: Tables): Pick<IntakeDesk, 'admit'> {
  const findFirst = createFirstFinder(db)
  const insertMessage = createMessageInserter(db)
  const countDuplicate = prepareQuery(
    db,
    'INSERT INTO duplicates (message, count) VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1',
  )

  function admitDraft(batch: Batch, draft: Draft): Admitted | 'ended' {
    const { intake } = draft
    const first = findFirst(intake)
    if (!first) return admitNew(batch, draft)
    if (intake.fingerprint !== undefined && first.fingerprint !== null && first.fingerprint !== intake.fingerprint) {
      return { outcome: 'conflict', message: first.number, task: first.task }
    }
    countDuplicate.run(first.number)
    return { outcome: 'duplicate', message: first.number, task: first.task }
  }

  function admitNew(batch: Batch, draft: Draft): Admitted | 'ended' {
    const { intake } = draft
    const at = now()
    const isTurn = intake.disposition === 'answer'
    const task = intake.task && isTurn ? tables.tasks.continueTask(intake.task, intake.agent, at) : undefined
    if (task === 'ended') return 'ended'
    const thread = tables.threads.place(intake)
    const message = tables.entries.append(draft.entry, { thread, task })
    insertMessage(draft, { message, thread, task })
    for (const blob of draft.blobs) tables.blobs.keep(blob)
    tables.threads.addNames(thread, nameScopeOf(intake), { message, id: intake.message.id, aliases: intake.aliases })
    if (isTurn) tables.turns.queue(batch, { message, thread, task, now: at })
    else addToTotal(batch, 'messages.ignored')
    tables.deliveries.queue(batch, intake.deliveries ?? [], { message, response: undefined, thread, now: at })
    return { outcome: 'accepted', message, task: task === undefined ? undefined : keyOf(intake.task) }
  }

  return {
    async admit(intake, correlationId) {
      const draft = draftIntake(intake, correlationId)
      const admitted = await write(batch => admitDraft(batch, draft))
      if (admitted === 'ended') throw new Rejection('unsupported', 'Cannot continue task: it has ended')
      return admitted
    },
  }
}

function keyOf(task: TaskKey | undefined): TaskKey | undefined {
  return task && { owner: task.owner, id: task.id }
}

function draftIntake(intake: Intake, correlationId: string): Draft {
  const { thread_id: _, parts, ...envelope } = intake.message
  const { bytes } = intake.raw
  const rawBlob = bytes.byteLength > inlineLimit ? digestBlob(bytes) : undefined
  return {
    intake,
    correlationId,
    entry: {
      nativeId: envelope.id,
      scope: intake.disposition === 'answer' ? 'conversation' : 'kept',
      role: 'user',
      author: formatJson({ address: envelope.sender.address, display_name: envelope.sender.display_name }),
      content: formatJson(parts),
      at: envelope.received_at,
    },
    envelope: formatJson(envelope),
    proofs: formatJson(intake.proofs),
    flags: intake.flags?.length ? formatJson(intake.flags) : null,
    target: formatJson(intake.target),
    rawBlob,
    blobs: [...(intake.blobs ?? []), ...(rawBlob ? [rawBlob] : [])],
  }
}

interface First {
  readonly number: number
  readonly fingerprint: string | null
  readonly task: TaskKey | undefined
}

function createFirstFinder(db: DatabaseSync): (intake: Intake) => First | undefined {
  const find = prepareQuery<Omit<First, 'task'> & { owner: string | null; native_id: string | null }>(
    db,
    `SELECT m.number, m.fingerprint, k.owner, k.native_id FROM messages m LEFT JOIN tasks k ON k.id = m.task_id
     WHERE m.duplicate_key = ? AND m.agent = ? AND m.via = ?`,
  )
  return ({ duplicateKey, agent, message }) => {
    const row = find.get(duplicateKey, agent, message.received_via)
    return row && { number: row.number, fingerprint: row.fingerprint, task: readTaskKey(row) }
  }
}

interface MessagePlace {
  readonly message: number
  readonly thread: number
  readonly task: number | undefined
}

function createMessageInserter(db: DatabaseSync): (draft: Draft, place: MessagePlace) => void {
  const insert = prepareQuery(
    db,
    `INSERT INTO messages (number, id, agent, via, thread_id, task_id, duplicate_key, fingerprint, correlation_id,
       envelope, proofs, flags, target, raw_form, raw_digest, raw)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return (draft, { message: number, thread, task }) => {
    const { agent, message, duplicateKey, fingerprint, raw } = draft.intake
    insert.run(
      number,
      message.id,
      agent,
      message.received_via,
      thread,
      task ?? null,
      duplicateKey,
      fingerprint ?? null,
      draft.correlationId,
      draft.envelope,
      draft.proofs,
      draft.flags,
      draft.target,
      raw.form,
      draft.rawBlob?.digest ?? null,
      draft.rawBlob ? null : raw.bytes,
    )
  }
}

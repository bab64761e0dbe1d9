import type { Json, MentionRelay } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import type { Conversation } from '../history/conversation.ts'
import type { WebPerson } from '../identity/speaker.ts'
import type { AskedRun } from '../input/asked-run.ts'
import type { ReadContent } from '../input/read-parts.ts'
import type { RunNews } from '../input/reconcile.ts'

type OwnCall = Pick<NonNullable<TranscriptEntry['tool']>, 'call_id' | 'name' | 'args'>

/** What a run took that its stored request does not have: who called, and what of it was new to the conversation. */
export interface RunArrival {
  readonly owner: WebPerson
  /** Ids of the messages that were new. */
  readonly said: readonly string[]
  /** Of results that the client brought: the calls, by their ids. */
  readonly calls?: readonly OwnCall[]
  readonly answers?: readonly string[]
  /** The files that came along: the digests of their bytes, and their names. */
  readonly files?: readonly { readonly digest: string; readonly name: string }[]
  readonly joined?: {
    readonly id: number
    readonly via: string
    readonly key: string
    readonly mentionRelay: MentionRelay
  }
}

/** What a run says, before it is stored. */
export interface SaidRun {
  readonly asked: AskedRun
  readonly news: RunNews
  /** Answers to questions that waited. */
  readonly answers: readonly string[]
  readonly content: ReadContent
  /** The conversation of another channel that it continues. */
  readonly joined: Conversation['joined']
}

export function recordRun({ asked, news, answers, content, joined }: SaidRun): Json {
  const { owner, subject, issuer, address } = asked.owner
  const arrival: RunArrival = {
    owner: { owner, subject, issuer, address },
    said: news.said.map(({ id }) => id),
    ...(news.toolResults.length > 0 && { calls: news.toolResults.map(({ call }) => describeCall(call)) }),
    ...(answers.length > 0 && { answers }),
    ...(content.blobs.length > 0 && { files: content.parts.flatMap(describeFile) }),
    ...(joined && {
      joined: { id: joined.id, via: joined.via, key: joined.key, mentionRelay: joined.mentionRelay },
    }),
  }
  return arrival as unknown as Json
}

function describeFile(part: ReadContent['parts'][number]) {
  if (part.kind !== 'file' || part.bytes_ref.kind !== 'content_addressed') return []
  return [{ digest: part.bytes_ref.digest, name: part.name ?? '' }]
}

function describeCall({ call_id, name, args }: OwnCall): OwnCall {
  return { call_id, ...(name !== undefined && { name }), ...(args !== undefined && { args }) }
}

/** Undefined when it is no record of a run. */
export function restoreRun(record: Json): RunArrival | undefined {
  return isJsonObject(record) && Array.isArray(record.said) ? (record as unknown as RunArrival) : undefined
}

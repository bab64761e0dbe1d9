import { ReadableStream } from 'node:stream/web'
import type { Channel, OperatorStore, Platform } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { ThreadKey } from '@postern/transcript'
import { exportThread, importThread } from '@postern/transcript'
import type { Context } from 'hono'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { readOwner } from '../owner.ts'
import { findMessageThread } from './conversation.ts'
import { transcriptOperations } from './operations.ts'

interface TranscriptRouteOptions {
  readonly store: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly channels: readonly Channel[]
}

interface AskedThread {
  readonly thread: string
  readonly owner?: string | undefined
}

const linesType = 'application/x-ndjson'

/** Conversations in every dialect of the transcript, out and in. */
export function createTranscriptRoutes({
  store,
  platform,
  channels,
}: TranscriptRouteOptions): readonly OperatorRoute[] {
  const { transcript } = store

  async function findThread({ thread, owner }: AskedThread, isMade: boolean): Promise<ThreadKey> {
    const found =
      owner === undefined
        ? await findMessageThread(thread, store)
        : await findOwned(readOwner(owner, channels) ?? owner, thread, isMade)
    if (!found) throw new Rejection('no_recipient', 'Cannot find thread: there is none of this name')
    return found
  }

  /** By transport and key, as its owner has named it. */
  async function findOwned(owner: string, name: string, isMade: boolean): Promise<ThreadKey | undefined> {
    const [, transport, key] = /^([a-z0-9]{1,20}):(.{1,1024})$/s.exec(name) ?? []
    if (transport === undefined || key === undefined) return undefined
    const found =
      (await findChannel(channels, transport)?.findThread?.(owner, key)) ??
      (await transcript.findThread(owner, { transport, key }))
    return found ?? (isMade ? transcript.openThread(owner, { transport, key }) : undefined)
  }

  return [
    handleOperation(transcriptOperations.export, async ({ query, context }) => {
      const thread = await findThread(query, false)
      return streamMessages(context, query.format, exportThread(thread, query.format, { transcript }))
    }),
    handleOperation(transcriptOperations.import, async ({ query, body }) => {
      const thread = await findThread(query, true)
      return importThread(thread, query.format, body.messages, { transcript, platform })
    }),
  ]
}

/** As they are read: one a line for who asks for that, else as one JSON text. Nobody waits for the end, nor is all of it in memory. */
function streamMessages(context: Context, format: string, pages: AsyncIterable<readonly object[]>): Response {
  const isLines = context.req.header('accept')?.includes(linesType) === true
  const text = isLines ? writeLines(pages) : writeJson(format, pages)
  const body = ReadableStream.from(encodeText(text))
  return new Response(body as BodyInit, { headers: { 'content-type': isLines ? linesType : 'application/json' } })
}

async function* writeLines(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(message => `${JSON.stringify(message)}\n`).join('')
}

async function* writeJson(format: string, pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  yield `{"format":${JSON.stringify(format)},"messages":[`
  let isFirst = true
  for await (const page of pages) {
    if (page.length === 0) continue
    yield `${isFirst ? '' : ','}${page.map(message => JSON.stringify(message)).join(',')}`
    isFirst = false
  }
  yield ']}'
}

async function* encodeText(text: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for await (const piece of text) if (piece !== '') yield encoder.encode(piece)
}

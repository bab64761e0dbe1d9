import { hash } from 'node:crypto'
import type { RunAgentInput } from '@ag-ui/core'
import type { Blob, Channel, StoredObject } from '@postern/core'
import { isJsonObject, parseJsonText } from '@postern/core'
import type { WebAttachments } from '../attachments/attachment-store.ts'
import { readStoredPlace } from '../attachments/signed-url.ts'
import type { WebDeps } from '../endpoint.ts'
import type { RunArrival } from '../normalize.ts'
import { normalizeRun, restoreRun } from '../normalize.ts'
import type { RunNews } from '../resolve.ts'
import { readRunInput } from '../resolve.ts'
import { readNews } from './routes.ts'

/**
 * Reads a stored run again. Its token is not kept, so the person is the one whom it proved then; and what of the run was new is what was new
 * then, because the conversation has gone on.
 */
export function createRunReplay(opened: WebDeps): NonNullable<Channel['replay']> {
  return async ({ agent, arrival, raw, target }, moment) => {
    const kept = restoreRun(arrival)
    if (!kept) return undefined
    const deps = { ...opened, gateway: { ...opened.gateway, ...moment } }
    const files = await findFiles(kept, deps)
    const document = restoreFiles(parseJsonText(Buffer.from(raw).toString()), files)
    const { input } = await readRunInput(withoutFormer(document))
    const news = readKnownNews(input.messages, kept)
    const attachments = readOnly(deps.attachments, kept, files)
    const content = await readNews(news, kept.answers ?? [], { owner: kept.owner, input }, { ...deps, attachments })
    const { threadId, runId } = input
    return normalizeRun({
      ...{ owner: kept.owner, agent, domain: deps.gateway.agents.domain, threadId, runId, content, document, arrival },
      messageId: news.said.at(-1)?.id ?? `${runId}-input`,
      former: new Set(),
      at: deps.gateway.platform.now(),
      joined: kept.joined && { ...kept.joined, target },
    })
  }
}

/** Of what the conversation had already, the stored request has the ids alone. */
function withoutFormer(document: unknown): unknown {
  if (!isJsonObject(document) || !Array.isArray(document.messages)) return document
  const isWhole = (message: unknown) => isJsonObject(message) && Object.keys(message).length > 2
  return { ...document, messages: document.messages.filter(isWhole) }
}

type Messages = RunAgentInput['messages']

function readKnownNews(messages: Messages, { said, calls = [] }: RunArrival): Pick<RunNews, 'said' | 'toolResults'> {
  const isNew = new Set(said)
  const byId = new Map(calls.map(call => [call.call_id, call]))
  return {
    said: messages.filter(message => message.role === 'user').filter(({ id }) => isNew.has(id)),
    toolResults: messages
      .filter(message => message.role === 'tool')
      .flatMap(message => {
        const call = byId.get(message.toolCallId)
        byId.delete(message.toolCallId)
        return call ? [{ ...message, call: call as RunNews['toolResults'][number]['call'] }] : []
      }),
  }
}

/** The files that came along, by what stands for them in the stored request: the digest of their Base64. */
async function findFiles({ files = [] }: RunArrival, deps: WebDeps): Promise<ReadonlyMap<string, KnownFile>> {
  const found = new Map<string, KnownFile>()
  for (const { digest } of files) {
    const blob = await deps.gateway.store.findBlob(digest)
    if (!blob) continue
    const base64 = Buffer.from(blob.bytes).toString('base64')
    found.set(`sha256:${hash('sha256', base64)}`, { base64, blob })
  }
  return found
}

interface KnownFile {
  readonly base64: string
  readonly blob: Blob
}

function restoreFiles(value: unknown, files: ReadonlyMap<string, KnownFile>): unknown {
  if (typeof value === 'string') return files.get(value)?.base64 ?? value
  if (Array.isArray(value)) return value.map(each => restoreFiles(each, files))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, restoreFiles(each, files)]))
}

/** Finds what is stored, and stores nothing. */
function readOnly(
  attachments: WebAttachments,
  { files: names = [] }: RunArrival,
  files: ReadonlyMap<string, KnownFile>,
): WebAttachments {
  const left = [...names]
  return {
    ...attachments,
    async store({ bytes }) {
      const digest = hash('sha256', bytes)
      const at = left.findIndex(file => file.digest === digest)
      const [file] = at < 0 ? [] : left.splice(at, 1)
      const known = [...files.values()].find(({ blob }) => blob.digest === digest)
      return { path: file?.name ?? 'file', mime: known?.blob.mime ?? 'application/octet-stream' } as StoredObject
    },
    async findByUrl(owner, url) {
      const place = readStoredPlace(url)
      return place && attachments.findOwn(owner, place)
    },
  }
}

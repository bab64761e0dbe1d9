// Reads stored runs again, for example after an update of the gateway.
import { hash } from 'node:crypto'
import type { RunAgentInput } from '@ag-ui/core'
import type { StoredObject } from '@postern/message'
import { isJsonObject, parseJsonText } from '@postern/message'
import type { Blob, ChannelDiagnostics } from '@postern/pipeline'
import type { WebAttachments } from '../attachments/attachment-store.ts'
import { parseStoredLocation } from '../attachments/signed-url.ts'
import type { WebDeps } from '../endpoint.ts'
import type { RunNews } from '../input/reconcile-run.ts'
import { readRunInput } from '../input/run-input.ts'
import type { RunArrival } from '../normalize.ts'
import { hideToken, normalizeRun, restoreRun } from '../normalize.ts'
import { readNews } from './routes.ts'

/**
 * Creates the function that reads a stored run again. The token is not stored, so the run is that of the person whom it proved. The new content is
 * that of the original run, because the conversation has since continued.
 */
export function createRunReplay(webDeps: WebDeps): NonNullable<ChannelDiagnostics['replay']> {
  return async ({ agent, arrival, raw, target }, moment) => {
    const arrivedRun = restoreRun(arrival)
    if (!arrivedRun) return undefined
    const deps = { ...webDeps, gateway: { ...webDeps.gateway, ...moment } }
    const files = await findFiles(arrivedRun, deps)
    const document = restoreFiles(parseJsonText(Buffer.from(raw).toString()), files)
    const { input } = await readRunInput(withoutFormerMessages(document))
    const runNews = restoreTokens(readKnownNews(input.messages, arrivedRun), arrivedRun)
    const attachments = toReadOnlyAttachments(deps.attachments, arrivedRun, files)
    const content = await readNews(
      runNews,
      arrivedRun.answers ?? [],
      { owner: arrivedRun.owner, input },
      { ...deps, attachments },
    )
    const { threadId, runId } = input
    return normalizeRun({
      owner: arrivedRun.owner,
      agent,
      domain: deps.gateway.agents.domain,
      threadId,
      runId,
      content,
      document,
      arrival,
      messageId: runNews.userMessages.at(-1)?.id ?? `${runId}-input`,
      formerIds: new Set(),
      closedQuestion: arrivedRun.closed,
      receivedAt: deps.gateway.system.now(),
      joined: arrivedRun.joined && { ...arrivedRun.joined, target },
    })
  }
}

/** Drops the messages that the conversation already had, of which the stored request has only ids and roles. */
function withoutFormerMessages(document: unknown): unknown {
  if (!isJsonObject(document) || !Array.isArray(document.messages)) return document
  const isNewMessage = (message: unknown) => isJsonObject(message) && Object.keys(message).length > 2
  return { ...document, messages: document.messages.filter(isNewMessage) }
}

type Messages = RunAgentInput['messages']

function readKnownNews(
  messages: Messages,
  { said, calls = [] }: RunArrival,
): Pick<RunNews, 'userMessages' | 'toolResults'> {
  const newIds = new Set(said)
  const callsById = new Map(calls.map(call => [call.call_id, call]))
  return {
    userMessages: messages.filter(message => message.role === 'user').filter(({ id }) => newIds.has(id)),
    toolResults: messages
      .filter(message => message.role === 'tool')
      .flatMap(message => {
        const call = callsById.get(message.toolCallId)
        callsById.delete(message.toolCallId)
        return call ? [{ ...message, call: call as RunNews['toolResults'][number]['call'] }] : []
      }),
  }
}

/** Restores the texts and addresses whose tokens the stored request lacks. They are stored in the order in which they were read. */
function restoreTokens(
  { userMessages, toolResults }: ReturnType<typeof readKnownNews>,
  { whole = [] }: RunArrival,
): ReturnType<typeof readKnownNews> {
  const remainingTexts = [...whole]
  const restore = (text: string) => {
    const [nextText] = remainingTexts
    return nextText !== undefined && hideToken(nextText) === text ? (remainingTexts.shift() ?? text) : text
  }
  const restoreIn = <M extends { readonly content: unknown }>(message: M): M => {
    return { ...message, content: mapTexts(message.content, restore) }
  }
  return { toolResults: toolResults.map(restoreIn), userMessages: userMessages.map(restoreIn) }
}

/** Finds the files of the run by their placeholder in the stored request, which is the digest of their Base64. */
async function findFiles({ files = [] }: RunArrival, deps: WebDeps): Promise<ReadonlyMap<string, ArrivedFile>> {
  const filesByPlaceholder = new Map<string, ArrivedFile>()
  for (const { digest } of files) {
    const blob = await deps.gateway.store.findBlob(digest)
    if (!blob) continue
    const base64 = Buffer.from(blob.bytes).toString('base64')
    filesByPlaceholder.set(`sha256:${hash('sha256', base64)}`, { base64, blob })
  }
  return filesByPlaceholder
}

interface ArrivedFile {
  readonly base64: string
  readonly blob: Blob
}

function restoreFiles(value: unknown, files: ReadonlyMap<string, ArrivedFile>): unknown {
  return mapTexts(value, text => files.get(text)?.base64 ?? text)
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map(item => mapTexts(item, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member, change)]))
}

/** Returns attachments that find stored files and store nothing. */
function toReadOnlyAttachments(
  attachments: WebAttachments,
  { files: recordedFiles = [] }: RunArrival,
  files: ReadonlyMap<string, ArrivedFile>,
): WebAttachments {
  const remainingFiles = [...recordedFiles]
  return {
    ...attachments,
    async store({ bytes }) {
      const digest = hash('sha256', bytes)
      const index = remainingFiles.findIndex(file => file.digest === digest)
      const [file] = index < 0 ? [] : remainingFiles.splice(index, 1)
      const arrivedFile = [...files.values()].find(({ blob }) => blob.digest === digest)
      return { path: file?.name ?? 'file', mime: arrivedFile?.blob.mime ?? 'application/octet-stream' } as StoredObject
    },
    async findByUrl(owner, url) {
      const location = parseStoredLocation(url)
      return location && attachments.findOwn(owner, location)
    },
  }
}

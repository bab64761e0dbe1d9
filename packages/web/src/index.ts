import { randomBytes } from 'node:crypto'
import type {
  Channel,
  ChannelContext,
  ChannelName,
  Json,
  ObjectStore,
  OperatorApprovals,
  OperatorQuestions,
} from '@postern/core'
import { createSender, parseJsonText } from '@postern/core'
import { createResponseSemaphore, readBody } from '@postern/http'
import type { ScopeTable } from '@postern/http/tokens'
import type { OwnerQuota, RecordStore } from '@postern/transcript'
import { Hono } from 'hono'
import { createWebAttachments } from './attachments/attachment-store.ts'
import { createAttachmentRoutes } from './attachments/routes.ts'
import { boundTranscript } from './bounded-transcript.ts'
import type { WebConfig } from './config.ts'
import { answerCors } from './cors.ts'
import { createSessionRoutes } from './dialects/session-routes.ts'
import { createStoreRoutes } from './dialects/store-routes.ts'
import { createOperatorRunRoutes } from './operator/routes.ts'
import { createOwnerReader } from './owner.ts'
import { createRememberedRoutes } from './remembered-routes.ts'
import { createRunRoutes } from './runs/routes.ts'
import { createThreadRoutes } from './thread-routes.ts'
import type { BoundTranscript, RecordDeps, WebDeps } from './web-deps.ts'
import { refuseWrongMethods } from './wrong-method.ts'

export { admitsMedia, detectMedia, findServedType } from './attachments/media-kind.ts'
export type { WebConfig } from './config.ts'
export { webConfigSchema } from './config.ts'
export { findWebThread } from './history.ts'
export { openS3Bytes } from './s3/open-s3.ts'
export { formatPlace, parseSignedUrl } from './signed-url.ts'
export type { BoundTranscript } from './web-deps.ts'

/** What the web needs beside the gateway: conversations as they are read back, and people's files. */
interface WebStores {
  readonly transcript: BoundTranscript
  readonly objects: ObjectStore
  /** Small records: rows of sessions. */
  readonly records: RecordStore & RecordDeps
  readonly forgetChat: WebDeps['forgetChat']
  /** The other channels, by which conversations go on. */
  findChannel(name: ChannelName): Channel | undefined
  /** Whether people may link their addresses for an agent. */
  isLinking(agent: string): boolean
  /** What waits for operators; absent where nobody can decide. */
  readonly approvals?: OperatorApprovals | undefined
  /** What agents ask of humans. */
  readonly questions?: OperatorQuestions | undefined
  /** Other names for the scopes of A2A, which limit tokens here as well. */
  readonly scopes?: Partial<ScopeTable> | undefined
  /** Whether it bears the gateway's operator token. */
  isOperatorToken?(authorization: string): boolean
}

/** Of one person: each may be some MB. */
const atOnce = { width: 8, queue: 64 } as const

/** Chat for browsers and apps: AG-UI 1.0 with history and attachments. */
export async function openWeb(
  config: WebConfig,
  gateway: ChannelContext,
  {
    transcript,
    objects,
    records,
    forgetChat,
    findChannel,
    isLinking,
    approvals,
    questions = { list: async () => [], answer: async () => false },
    isOperatorToken = () => false,
    scopes,
  }: WebStores,
): Promise<Channel<Hono>> {
  const secret = await gateway.store.secret('web-storage', async () => randomBytes(32).toString('base64'))
  const quota = quotaOf(config)
  const deps = {
    config,
    gateway,
    transcript,
    bounded: boundTranscript(transcript, quota),
    quota,
    forgetChat,
    records,
    findChannel,
    isLinking,
    scopes,
    readOwner: createOwnerReader(config, { ...gateway, scopes }),
    responseSemaphore: createResponseSemaphore(atOnce),
    attachments: createWebAttachments({ config, gateway, objects, key: Buffer.from(secret, 'base64') }),
    openBody: async (request: Request, maxBytes: number) => {
      const body = await readBody(request, maxBytes)
      return new Request(request.url, { method: 'POST', headers: request.headers, body: new Uint8Array(body) })
    },
  }
  const routes = new Hono()
  if (config.enabled) {
    for (const path of ['/api/v1/*', '/v1/*', '/storage/v1/*']) routes.use(path, answerCors(config.origins))
    routes.route('/', createRunRoutes(deps))
    routes.route('/', createAttachmentRoutes(deps))
    routes.route('/', createStoreRoutes(deps))
    routes.route('/', createSessionRoutes(deps))
    routes.route('/', createThreadRoutes(deps))
    routes.route('/', createRememberedRoutes(deps))
    if (approvals) routes.route('/', createOperatorRunRoutes({ ...deps, approvals, questions, isOperatorToken }))
    refuseWrongMethods(routes)
  }
  const sender = createSender({
    name: 'web',
    // Whoever runs it reads it: committed means sent.
    address: ({ turn }) => ({
      deliveries: [{ to: `run:${runOf(turn.target)}`, target: turn.target, pulled: true }],
      aliases: [],
    }),
    render: delivery => delivery.response ?? null,
    describe: response => parseJsonText(JSON.stringify(response)) as Json,
    deliver: async () => ({ note: 'kept for the client to read' }),
  })
  return {
    ...sender,
    routes,
    addressesFiles: true,
    privateScope: subject => subject,
    links: () => [],
    publishedKeys: async () => [],
  }
}

function quotaOf({ limits }: WebConfig): OwnerQuota {
  return { threads: limits.threads_per_owner, entries: limits.entries_per_owner, bytes: limits.bytes_per_owner }
}

function runOf(target: unknown): string {
  return String((target as { readonly run?: unknown } | null)?.run ?? '')
}

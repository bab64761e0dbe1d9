// Writes docs/reference/routes.md and openapi.json from the routes of a gateway.
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeliveryRecord, MessageRecord } from '@postern/pipeline'
import { parseConfig } from '../../apps/gateway/src/config/read-config.ts'
import { createSimulationRoutes } from '../../apps/gateway/src/dev/simulation.ts'
import type { Gateway } from '../../apps/gateway/src/gateway.ts'
import { openGateway } from '../../apps/gateway/src/gateway.ts'
import { createLog } from '../../apps/gateway/src/observe/log.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from './markdown.ts'
import { routePurposes } from './route-purposes.ts'

const intro = `
Every route of the gateway, as its router has it when all channels and mail providers are configured. \`:agent\` and other words after a colon stand for one
segment of the path, \`*\` for the rest of it. [The guides](../guides/README.md) show how to use them. [openapi.json](openapi.json) describes the operator's API: every operation with its parameters, bodies and answers.

- An answer that is no success is \`application/problem+json\`, and on A2A an error of its binding: [errors](errors.md).
- A path that has routes answers a method that none of them takes with 405, or with 404.
- Each section has the routes of one channel, or of one part of the program. If two serve a path, \`(activitypub, else discovery)\` says so.
- SMTP, LMTP and gRPC have sockets of their own: \`email.listen\` and \`a2a.grpc\` in the [configuration](configuration.md).
- \`/operator/api/simulation\` and \`/operator/api/simulation/send\` are there in dev mode only.
`

const secret = 'a-secret-of-the-reference'

/** A configuration that opens every route. */
const fullConfig = {
  origin: 'https://agents.example',
  agents: { echo: { use: 'builtin:echo' } },
  web: { enabled: true },
  email: {
    intake: { secret },
    providers: {
      postal: { public_key: 'MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' },
      mailgun: { signing_key: secret },
      sendgrid: { public_key: 'MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' },
      postmark: { user: 'postmark', password: secret },
      ses: { topics: ['arn:aws:sns:eu-west-1:123456789012:mail'] },
      cloudmailin: { user: 'cloudmailin', password: secret },
      forwardemail: { secret },
    },
  },
}

/** One address of the gateway. */
interface ListedRoute {
  readonly methods: readonly string[]
  readonly path: string
  /** The channels and other parts of the program that serve the address. */
  readonly parts: readonly string[]
  readonly callers: string
}

/** Writes docs/reference/routes.md. */
export async function describeRoutes(): Promise<string> {
  const routes = await withGateway(listRoutes)
  const summaries = summarizeOperations(await withGateway(readOpenApi))
  const purposes = { ...routePurposes, ...summaries }
  checkPurposes(
    routes.map(({ path }) => path),
    purposes,
  )
  const parts = [...new Set(routes.map(({ parts: [first = ''] }) => first))]
  return formatPage('Routes reference', [
    intro,
    ...parts.flatMap(part => [
      `## ${part}`,
      formatRoutes(
        routes.filter(({ parts: [first] }) => first === part),
        purposes,
      ),
    ]),
    ...describeRecord(),
  ])
}

/** Checks the phrases. @throws Error with each path that lacks a phrase, and each phrase that lacks a path */
export function checkPurposes(paths: readonly string[], purposes: Readonly<Record<string, string>>): void {
  const missingPurposes = paths.filter(path => !Object.hasOwn(purposes, path)).map(path => `add one for ${path}`)
  const unusedPaths = Object.keys(purposes)
    .filter(path => !paths.includes(path))
    .map(path => `remove that of ${path}`)
  if (missingPurposes.length + unusedPaths.length === 0) return
  throw new Error(
    `Cannot describe routes by tools/reference/route-purposes.ts: ${[...missingPurposes, ...unusedPaths].join('; ')}`,
  )
}

function formatRoutes(routes: readonly ListedRoute[], purposes: Readonly<Record<string, string>>): string {
  return formatMarkdownTable(
    ['method', 'path', 'what', 'who may call'],
    routes.map(({ methods, path, parts, callers }) => [
      methods.map(formatInlineCode).join(', '),
      formatInlineCode(path),
      parts.length === 1 ? (purposes[path] ?? '') : `${purposes[path]} (${parts.join(', else ')})`,
      callers,
    ]),
  )
}

interface DescribedOperations {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>
}

/** Reads the OpenAPI document of the operator API from the gateway. */
async function readOpenApi({ app }: Pick<Gateway, 'app'>): Promise<DescribedOperations> {
  const headers = { authorization: `Bearer ${secret}` }
  const response = await app.request('/operator/api/openapi.json', { headers })
  return (await response.json()) as DescribedOperations
}

/** Writes docs/reference/openapi.json. */
export async function describeOpenApi(): Promise<string> {
  return `${JSON.stringify(await withGateway(readOpenApi), undefined, 2)}\n`
}

/** Summarizes the operations of each path, with paths in the router's notation. */
function summarizeOperations({ paths }: DescribedOperations): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => {
      const sentences = Object.values(methods).map(({ summary }) => summary)
      return [`/operator/api${path.replace(/\{(\w+)\}/g, ':$1')}`, sentences.join(' ')]
    }),
  )
}

async function withGateway<Result>(readGateway: (gateway: Gateway) => Promise<Result> | Result): Promise<Result> {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'postern-reference-'))
  const data = directory.path
  const config = parseConfig({ ...fullConfig, data, operator_token: secret })
  const log = createLog({ level: 'silent', readable: false })
  // The routes of the simulation are listed but never called.
  const simulation = createSimulationRoutes({} as Parameters<typeof createSimulationRoutes>[0])
  const gateway = await openGateway(config, { baseDir: data, log, operatorToken: secret, extraOperations: simulation })
  try {
    return await readGateway(gateway)
  } finally {
    await gateway.stop()
  }
}

/**
 * Lists the handlers of requests. Guards and refusals of other methods are not listed as routes.
 * @throws Error for a path whose callers are not documented
 */
export function listRoutes({ app, channels }: Pick<Gateway, 'app' | 'channels'>): readonly ListedRoute[] {
  const routes = app.routes.map(({ method, path }) => ({ method, path }))
  const methodRoutes = routes.filter(({ method }) => method !== 'ALL')
  const answeringRoutes = routes.filter(
    ({ method, path }) => method !== 'ALL' || !methodRoutes.some(route => covers(path, route.path)),
  )
  const paths = [...new Set(answeringRoutes.map(({ path }) => path))].filter(
    path => !(path.endsWith('/') && path !== '/'),
  )
  return paths.map(path => {
    const row = callerRows.find(callerRow => callerRow.path.test(path))
    if (!row) throw new Error(`Cannot say who may call ${path}: add a row to tools/reference/routes.ts`)
    const methods = answeringRoutes.filter(route => route.path === path).map(({ method }) => method)
    const servingChannels = channels.filter(({ endpoint }) =>
      endpoint.routes.routes.some(route => route.method !== 'ALL' && route.path === path),
    )
    const mountedChannels = channels.filter(({ endpoint }) => endpoint.routes.routes.some(route => route.path === path))
    const names = (servingChannels.length > 0 ? servingChannels : mountedChannels).map(
      ({ descriptor }) => descriptor.name,
    )
    const isShared = methods.length > new Set(methods).size
    const parts =
      names.length === 0 ? [row.part] : isShared && !names.includes(row.part as never) ? [...names, row.part] : names
    return { methods: [...new Set(methods)], path, parts, callers: row.callers }
  })
}

/** Returns true if a guard of `pattern` applies to `path`. */
function covers(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('/*') && `${path}/`.startsWith(pattern.slice(0, -1)))
}

/** A sentence about the callers of some paths. */
interface CallerRow {
  /** Matches the beginning of the paths. */
  readonly path: RegExp
  /** The part of the program that serves the paths, if it is not a channel. */
  readonly part: string
  /** The parties that may call. */
  readonly callers: string
}

const signingPeer = 'a peer that signs its request (HTTP signature)'
const chatClient = 'bearer of a token of `web.auth`'
const mailProvider = 'the provider, by its own signature or password'

/** The callers of each route. The first matching row counts. */
const callerRows: readonly CallerRow[] = [
  { path: /^\/(healthz|readyz|metrics)$/, part: 'server', callers: 'anybody; keep `/metrics` behind your proxy' },
  { path: /^\/schemas\//, part: 'discovery', callers: 'anybody' },
  { path: /^\/operator\/api\//, part: 'operator', callers: 'bearer of the operator token' },
  {
    path: /^\/operator\/session$/,
    part: 'operator',
    callers: 'the console’s own page, with the operator token or a one-time code',
  },
  {
    path: /^\/operator\/chat/,
    part: 'operator',
    callers: 'bearer of the operator token, or a session of the console',
  },
  { path: /^\/postern-chat[./]/, part: 'discovery', callers: 'anybody' },
  { path: /^\/operator/, part: 'operator', callers: 'anybody; the pages show nothing without a session' },
  { path: /^\/api\/v1\/operator\//, part: 'web', callers: 'bearer of the operator token, or one of `web.operators`' },
  { path: /^\/storage\/v1\/object\/sign\//, part: 'web', callers: 'whoever has the signed address, until it expires' },
  { path: /^\/(api\/v1|v1)\//, part: 'web', callers: chatClient },
  { path: /^\/(agents\/:agent\/)?inbox$/, part: 'activitypub', callers: signingPeer },
  {
    path: /^\/email\/inbound$/,
    part: 'email',
    callers: 'whoever proves `email.intake.secret`, as bearer or by a webhook signature',
  },
  { path: /^\/email\/inbound\//, part: 'email', callers: mailProvider },
  { path: /^\/email\/unsubscribe\//, part: 'email', callers: 'whoever has the address from a mail' },
  {
    path: /^\/(agents\/:agent\/)?a2a(\/|$)/,
    part: 'a2a',
    callers: 'a caller that `a2a.auth` knows, by token or API key',
  },
  { path: /^\/attachments\//, part: 'attachments', callers: 'whoever has the signed address, until it expires' },
  { path: /^\/actions\//, part: 'requirements', callers: 'whoever has the address' },
  {
    path: /^\/payments\/callback$/,
    part: 'requirements',
    callers: 'whoever has a receipt that `payments.issuer` signed',
  },
  {
    path: /^\/agents\/:agent(\/(posts|outbox|followers|following|featured|feed\.atom|tags)(\/|$)|$)/,
    part: 'discovery',
    callers: 'anybody; ActivityPub documents only by signed requests where `activitypub.require_signed_fetch` is set',
  },
  { path: /^\/(actor|nodeinfo|\.well-known|agents|favicon)|^\/$/, part: 'discovery', callers: 'anybody' },
]

/** The members of a message record for the operator. A member without a phrase does not compile. */
const messageMembers: Readonly<Record<keyof MessageRecord, string>> = {
  number: 'the gateway’s number of it',
  thread: 'number of its conversation',
  message: '[NormalizedMessage](message.md#normalizedmessage)',
  proofs: 'each check of the transport’s proof: `kind`, `verdict`, `reason?`, `key_id?` and details',
  state: '`received`, `working`, `answered`, `failed` or `ignored`',
  flags: 'why no agent got it, or what is odd about it',
  error: 'why it failed',
  response: '[NormalizedResponse](response.md), or `null`',
  deliveries: 'each delivery, as below',
  duplicates: 'how often the peer sent it again',
  correlation_id: 'the word that its lines in the log share',
  merged_into: 'number of the later message whose answer is for both',
  namesakes: 'numbers of further messages with the same id',
  trace:
    'its intake: `received_at`, `admitted_at` and `steps`, each with `kind`, `verdict`, `key_id?`, `key_from?`, `key_digest?`, `after`, `ms`',
  steps:
    'what the agent noted in its turn: `kind` (`stage`, `call`, `note`), `name`, `at`, `ms?`, `message?`, `error?`',
  turn: '`attempts`, `due_at?`, `is_leased` and `ended_at?`; each attempt with its times, input, tools, tokens, error',
}

const deliveryMembers: Readonly<Record<keyof DeliveryRecord, string>> = {
  id: 'id of the delivery',
  via: 'channel',
  to: 'where it goes',
  state: '`queued`, `sent`, `later`, `dead` or `dismissed`',
  attempts: 'how many attempts it had',
  last_error: 'why the last attempt failed',
  next_attempt_at: 'time of the next attempt, ISO 8601',
  queued_at: 'since when it waits, ISO 8601',
  ended_at: 'when it was over, ISO 8601',
  attempt_log: 'each attempt: `attempt`, `at`, `ms`, `outcome`, `status?`, `reply_line?`, `error?`, `next_at?`',
  message_id: 'id of the message that it answers',
  wire: 'what the gateway sends, without signatures and secrets',
}

/** Describes the answer of `GET /operator/api/messages/{id}`. */
function describeRecord(): readonly string[] {
  return [
    '### Record of a message',
    '`GET /operator/api/messages/{id}` answers an object with these members.',
    formatMembers(messageMembers),
    'Each of `deliveries`:',
    formatMembers(deliveryMembers),
  ]
}

function formatMembers(members: Readonly<Record<string, string>>): string {
  const rows = Object.entries(members).map(([name, meaning]) => [formatInlineCode(name), meaning])
  return formatMarkdownTable(['member', 'what'], rows)
}

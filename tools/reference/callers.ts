/** Paths that one sentence about callers holds for. */
interface CallerRow {
  /** Fits the beginning of a path. */
  readonly path: RegExp
  /** Which part serves them, if it is no channel. */
  readonly part: string
  /** Who may call. */
  readonly callers: string
}

const signer = 'a peer that signs its request (HTTP signature)'
const chatter = 'bearer of a token of `web.auth`'
const mailer = 'the provider, by its own signature or password'

/** Who may call which route; the first row that fits a path counts. */
export const callerRows: readonly CallerRow[] = [
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
  { path: /^\/postern-chat\.js$/, part: 'discovery', callers: 'anybody' },
  { path: /^\/operator/, part: 'operator', callers: 'anybody; the pages show nothing without a session' },
  { path: /^\/api\/v1\/operator\//, part: 'web', callers: 'bearer of the operator token, or one of `web.operators`' },
  { path: /^\/storage\/v1\/object\/sign\//, part: 'web', callers: 'whoever has the signed address, until it expires' },
  { path: /^\/(api\/v1|v1)\//, part: 'web', callers: chatter },
  { path: /^\/(agents\/:agent\/)?inbox$/, part: 'activitypub', callers: signer },
  {
    path: /^\/email\/inbound$/,
    part: 'email',
    callers: 'whoever proves `email.intake.secret`, as bearer or by a webhook signature',
  },
  { path: /^\/email\/inbound\//, part: 'email', callers: mailer },
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

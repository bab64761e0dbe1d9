/** A conversation of one agent. */
export interface PosternThread {
  /** Local part of the agent's address. */
  readonly agent: string
  /** `thread_id` of the gateway. */
  readonly thread: string
}

const prefix = 'postern'

/** `postern:<agent>:<thread in base64url>`: what is before the last colon is the channel, and an agent has one. */
export function formatThreadId({ agent, thread }: PosternThread): string {
  return [prefix, agent, Buffer.from(thread).toString('base64url')].join(':')
}

/** @throws Error for an id of another adapter */
export function parseThreadId(id: string): PosternThread {
  const [head, agent, encoded, ...rest] = id.split(':')
  if (head !== prefix || !agent || !encoded || rest.length > 0)
    throw new Error(`Cannot read thread "${id}": expected postern:<agent>:<thread>`)
  return { agent, thread: Buffer.from(encoded, 'base64url').toString('utf8') }
}

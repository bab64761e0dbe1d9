// Runs a foreign framework as a client of our agents.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The texts that a framework sends to one of our agents. */
export interface FrameworkRequest {
  /** The agent's base URL. */
  readonly agent: string
  /** True if it asks for a stream. */
  readonly streams: boolean
  /** The texts, sent one after the other; a text after a question answers it. */
  readonly texts: readonly string[]
  /** A file next to the first text, with its data in base64; absent if there is none. */
  readonly file?: { readonly name: string; readonly mime: string; readonly data: string } | undefined
  /** The header fields with the credential. */
  readonly headers: Readonly<Record<string, string>>
}

/** The answer that a framework returns to its user. */
export interface FrameworkAnswer {
  /** The agent's name from its card; null if there is none. */
  readonly card: string | null
  readonly answers: readonly {
    readonly state: 'answered' | 'asked' | 'failed' | 'error'
    readonly text: string
    /** The media types of the files. */
    readonly files: readonly string[]
  }[]
}

/** A running program of a framework. */
export interface FrameworkClient {
  sayAll(conversation: FrameworkRequest): Promise<FrameworkAnswer>
  /** Returns everything that it printed for people. */
  log(): string
  stop(): void
}

/** Starts a script that answers each line of its input with a line. */
export async function openClient(python: string, script: string, certPath: string): Promise<FrameworkClient> {
  const program = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(python, [program], { env: { ...process.env, SSL_CERT_FILE: certPath } })
  let log = ''
  child.stderr.on('data', chunk => {
    log += String(chunk)
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const readLine = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${script} ended: ${log.trim().split('\n').at(-1)}`)
    return value
  }
  await readLine()
  return {
    async sayAll(conversation) {
      child.stdin.write(`${JSON.stringify(conversation)}\n`)
      return JSON.parse(await readLine()) as FrameworkAnswer
    },
    log: () => log,
    stop: () => child.kill('SIGTERM'),
  }
}

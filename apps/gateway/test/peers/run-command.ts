import { spawn } from 'node:child_process'

interface CommandOutcome {
  readonly status: number
  /** Both outputs, in order. */
  readonly text: string
}

interface CommandOptions {
  readonly input?: string | undefined
  readonly cwd?: string | undefined
  readonly timeoutMs?: number | undefined
}

/** Runs a program to its end. A program that is not there ends with 127. */
export function tryCommand(
  program: string,
  parameters: readonly string[],
  { input = '', cwd, timeoutMs = 60_000 }: CommandOptions = {},
): Promise<CommandOutcome> {
  return new Promise(resolve => {
    const child = spawn(program, parameters, { cwd, timeout: timeoutMs })
    let text = ''
    const read = (chunk: Buffer) => {
      text += chunk.toString()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.stdin.on('error', () => {})
    child.once('error', error => resolve({ status: 127, text: error.message }))
    child.once('close', code => resolve({ status: code ?? 1, text }))
    child.stdin.end(input)
  })
}

/** @throws Error with what it printed, when it fails */
export async function runCommand(
  program: string,
  parameters: readonly string[],
  options?: CommandOptions,
): Promise<string> {
  const { status, text } = await tryCommand(program, parameters, options)
  if (status !== 0) throw new Error(`${program} ${parameters.join(' ')} ended with ${status}: ${text.trim()}`)
  return text
}

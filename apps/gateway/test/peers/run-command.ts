// Runs other programs to their end, and reports why one failed.
import { spawn } from 'node:child_process'

interface CommandOutcome {
  readonly status: number
  /** Both outputs, in order. */
  readonly text: string
  /** Standard output alone, without warnings. */
  readonly output: string
}

interface CommandOptions {
  readonly input?: string | undefined
  readonly cwd?: string | undefined
  readonly timeoutMs?: number | undefined
}

/**
 * Runs a program to its end. Returns status 127 for a program that does not exist, and 1 for one that a signal ended, with the signal in `text`. The
 * time limit is for a program that hangs: a machine that is busy with other work is several times slower.
 */
export function tryCommand(
  program: string,
  parameters: readonly string[],
  { input = '', cwd, timeoutMs = 300_000 }: CommandOptions = {},
): Promise<CommandOutcome> {
  return new Promise(resolve => {
    const child = spawn(program, parameters, { cwd, timeout: timeoutMs })
    let text = ''
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      output += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    child.stdin.on('error', () => {})
    child.once('error', error => resolve({ status: 127, text: error.message, output }))
    child.once('close', (code, signal) => {
      const endReport = signal ? `${text}\nended by ${signal}, within a limit of ${timeoutMs} ms` : text
      resolve({ status: code ?? 1, text: endReport, output })
    })
    child.stdin.end(input)
  })
}

async function runToSuccess(
  program: string,
  parameters: readonly string[],
  options?: CommandOptions,
): Promise<CommandOutcome> {
  const outcome = await tryCommand(program, parameters, options)
  if (outcome.status === 0) return outcome
  throw new Error(`${program} ${parameters.join(' ')} ended with ${outcome.status}: ${outcome.text.trim()}`)
}

/** Runs a program. Returns both of its outputs. @throws Error with the outputs when it fails */
export async function runCommand(
  program: string,
  parameters: readonly string[],
  options?: CommandOptions,
): Promise<string> {
  return (await runToSuccess(program, parameters, options)).text
}

/**
 * Runs a program. Returns its standard output alone, for callers that parse it: a warning is no value.
 * @throws Error with the outputs when it fails
 */
export async function readOutput(
  program: string,
  parameters: readonly string[],
  options?: CommandOptions,
): Promise<string> {
  return (await runToSuccess(program, parameters, options)).output
}

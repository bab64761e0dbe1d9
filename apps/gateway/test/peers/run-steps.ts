/** Runs the steps of an exam; each is one action on a stage and its expected result. */
export interface ExamStep<Stage> {
  readonly name: string
  run(setup: Stage): Promise<void>
}

export const printLine = (line: string) => process.stdout.write(`${line}\n`)

/** Runs every step, even after one that failed, and reports each result. Returns the number of failures. */
export async function runSteps<Stage>(steps: readonly ExamStep<Stage>[], setup: Stage): Promise<number> {
  let failures = 0
  for (const step of steps) failures += (await isPassed(step, setup)) ? 0 : 1
  return failures
}

async function isPassed<Stage>({ name, run }: ExamStep<Stage>, setup: Stage): Promise<boolean> {
  const startedAt = performance.now()
  const failure = await run(setup).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const outcome = failure === undefined ? 'ok' : 'FAILED'
  printLine(`${outcome.padEnd(8)} ${name} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`)
  if (failure !== undefined) printLine(`         ${failure}`)
  return failure === undefined
}

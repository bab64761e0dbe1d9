// Runs the steps of an exam of the gateway, and reports their results.

/** One step of an exam: an action, and checks of its result that throw an error. */
export interface ExamStep<Exam> {
  readonly name: string
  run(exam: Exam): Promise<void>
}

export const printLine = (line: string) => process.stdout.write(`${line}\n`)

/** Runs every step, even after one that failed, and reports each result. Returns the number of failures. */
export async function runSteps<Exam>(steps: readonly ExamStep<Exam>[], exam: Exam): Promise<number> {
  let failures = 0
  for (const step of steps) {
    if (!(await runStep(step, exam))) failures += 1
  }
  return failures
}

/** Runs one step and reports its result. Returns true if the step has passed. */
async function runStep<Exam>({ name, run }: ExamStep<Exam>, exam: Exam): Promise<boolean> {
  const startedAt = performance.now()
  const failure = await run(exam).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const outcome = failure === undefined ? 'ok' : 'FAILED'
  printLine(`${outcome.padEnd(8)} ${name} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`)
  if (failure !== undefined) printLine(`         ${failure}`)
  return failure === undefined
}

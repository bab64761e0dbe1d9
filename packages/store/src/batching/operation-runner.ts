// Runs operations at the same time, so that their statements share round trips.
/** Operations that run together: the context of their statements, and the operation that has reserved each name. */
interface OperationBatch<Context> {
  readonly context: Context
  readonly reservedBy: Map<string, OperationRun<Context>>
}

/** An operation that runs again from its start whenever results have arrived, until no result is missing. */
interface OperationRun<Context, T = unknown> {
  readonly operation: () => T
  readonly names: readonly string[]
  readonly batch: OperationBatch<Context>
  /** True if no other operation runs at the same time. */
  readonly runsAlone: boolean
  /** The operation of which it is a part; undefined for an operation of its own. */
  readonly parent?: OperationRun<Context> | undefined
  /** The time at which it began. Every run of the operation sees this time, so it does the same each time. */
  readonly startedAt: number
  /** The steps that it has taken so far, in order. */
  readonly steps: { readonly id: number; readonly step: unknown }[]
  /** The number of steps that it has reached in this run. */
  position: number
  isSuspended: boolean
  outcome: { readonly value: T } | { readonly mustRunAlone: true } | undefined
}

/** An operation to run. `names`: names of what it reads and changes. No other operation of the same wave has one of these names. */
interface RunnableOperation<T> {
  readonly names?: readonly string[]
  readonly operation: () => T
}

interface RoundTripDeps<Context> {
  readonly context: Context
  /** Sends all pending statements and waits for their results. Returns false if there were none. */
  sendPending(): Promise<boolean>
}

/** Runs operations at the same time, so that a remote server gets all their statements in one round trip. Several batches may be active. */
export interface OperationRunner<Context> {
  /**
   * Returns the context of the running operation.
   * @throws Error if none is running, because a reading after a wait is a separate operation
   */
  context(): Context
  /** Returns true if other operations run at the same time as the current one. */
  isBatched(): boolean
  /** Returns the time on the clock, which stands still for an operation. */
  now(): number
  /** Returns the next step of the operation: the one of its last run, or a new one. Outside an operation it makes a new one. */
  nextStep<S>(id: number, make: () => S): S
  /** Interrupts the operation until `sendPending` has been called. */
  suspend(): never
  /** Runs readings within an operation, so that their statements share one round trip. */
  readBatch<T>(readings: readonly (() => T)[]): readonly T[]
  /**
   * Runs a part of the operation, which is not repeated once it has ended. Without parts, an operation that waits for n results repeats up to n²
   * steps. Names that a part reserves belong to the operation.
   */
  runPart<T>(part: () => T): T
  /** Interrupts the operation while another one that has not ended has reserved this name. */
  reserve(name: string): void
  /** Ends this run of the operation, unless it runs alone. The operation then runs after the others. */
  runAlone(): void
  /** Runs operations to their end. @throws the errors of an operation or of `sendPending` */
  run<T>(operations: readonly RunnableOperation<T>[], exchange: RoundTripDeps<Context>): Promise<readonly T[]>
  /**
   * Runs an action that must not be repeated when the operation runs again, such as the start of a write. Outside an operation it runs the action
   * directly.
   */
  act<S>(make: () => S): S
  /** Starts an asynchronous operation, which runs until it needs a result. */
  start<T>(operation: () => Promise<T>, context: Context): StartedOperation<T>
  /** Runs started operations of one context. Each ends by itself, unless no result arrives. @throws the errors of `sendPending` */
  runEach(
    operations: readonly StartedOperation<unknown>[],
    answer: RoundTripDeps<Context>['sendPending'],
  ): Promise<void>
}

/** An asynchronous operation that has started. */
export interface StartedOperation<T> {
  /** Returns its result; undefined while it waits for one of the server. */
  end(): Promise<T> | undefined
  /** Returns true if it must not start again, because it has run an action. */
  hasActed(): boolean
  /** Continues it with the results that have arrived. */
  runOn(): void
}

// Both are thrown often, through code that does not know them. A new error each time would cost a stack trace.
const suspended = new Error('an operation waits for a result')
const requiresOwnRun = new Error('an operation must run alone')

interface RunnerState<Context> {
  current: OperationRun<Context> | undefined
}

export function createOperationRunner<Context>(clock: () => number): OperationRunner<Context> {
  const state: RunnerState<Context> = { current: undefined }

  function requireCurrent(): OperationRun<Context> {
    if (!state.current) throw new Error('a statement outside an operation')
    return state.current
  }

  function nextStep<S>(id: number, make: () => S): S {
    return state.current ? nextStepOf(state.current, id, make) : make()
  }

  function prepareAll<T>(
    operations: readonly RunnableOperation<T>[],
    context: Context,
  ): readonly OperationRun<Context, T>[] {
    const batch: OperationBatch<Context> = { context, reservedBy: new Map() }
    const [startedAt, runsAlone] = [clock(), operations.length === 1]
    const runs = operations.map(operation => createOperationRun(operation, { batch, startedAt, runsAlone }))
    for (const run of runs) for (const name of run.names) batch.reservedBy.set(name, run)
    return runs
  }

  return {
    context: () => requireCurrent().batch.context,
    isBatched: () => state.current?.runsAlone === false,
    now: () => state.current?.startedAt ?? clock(),
    nextStep,
    suspend: () => suspendRun(requireCurrent()),
    act: make => nextStep(actStepId, make),
    readBatch: readings => runParts(requireCurrent(), state, readings),
    runPart: part => runParts(requireCurrent(), state, [part])[0] as ReturnType<typeof part>,
    reserve(name) {
      const current = requireCurrent()
      const operation = operationOf(current)
      const { reservedBy } = current.batch
      const holder = reservedBy.get(name)
      if (holder && holder !== operation && !holder.outcome) suspendRun(current)
      reservedBy.set(name, operation)
    },
    runAlone() {
      if (!requireCurrent().runsAlone) throw requiresOwnRun
    },
    async run<T>(operations: readonly RunnableOperation<T>[], exchange: RoundTripDeps<Context>) {
      const trials = prepareAll(operations, exchange.context)
      await runToEnd(trials, state, exchange)
      const results: T[] = []
      for (const { outcome, operation } of trials) {
        if (outcome && 'value' in outcome) results.push(outcome.value)
        else results.push(...(await this.run([{ operation }], exchange)))
      }
      return results
    },
    start(operation, context) {
      const batch: OperationBatch<Context> = { context, reservedBy: new Map() }
      return startOperation(createOperationRun({ operation }, { batch, startedAt: clock(), runsAlone: false }), state)
    },
    runEach: runStarted,
  }
}

async function runStarted(
  operations: readonly StartedOperation<unknown>[],
  sendPending: RoundTripDeps<unknown>['sendPending'],
): Promise<void> {
  for (let unfinished = operations; ; ) {
    unfinished = unfinished.filter(operation => !operation.end())
    if (unfinished.length === 0) return
    if (!(await sendPending())) throw new Error('an operation waits for nothing')
    for (const operation of unfinished) operation.runOn()
  }
}

function startOperation<Context, T>(
  run: OperationRun<Context, Promise<T>>,
  state: RunnerState<Context>,
): StartedOperation<T> {
  const runOn = () => void runOnce(run, state)
  runOn()
  return {
    end: () => (run.outcome && 'value' in run.outcome ? run.outcome.value : undefined),
    hasActed: () => run.steps.some(({ id }) => id === actStepId),
    runOn,
  }
}

function operationOf<Context>(run: OperationRun<Context>): OperationRun<Context> {
  return run.parent ? operationOf(run.parent) : run
}

type OperationRunOptions<Context> = Pick<OperationRun<Context>, 'batch' | 'startedAt' | 'runsAlone' | 'parent'>

function createOperationRun<Context, T>(
  { names = [], operation }: RunnableOperation<T>,
  { batch, startedAt, runsAlone, parent }: OperationRunOptions<Context>,
): OperationRun<Context, T> {
  return {
    parent,
    operation,
    names,
    batch,
    startedAt,
    runsAlone,
    steps: [],
    position: 0,
    isSuspended: false,
    outcome: undefined,
  }
}

/** Marks a promise as handled. It may fail before a caller waits for it, or without one, and that must not end the process. */
export function markHandled<T>(value: T): T {
  if (value instanceof Promise) void value.catch(() => undefined)
  return value
}

async function runToEnd<Context>(
  runs: readonly OperationRun<Context>[],
  state: RunnerState<Context>,
  { sendPending }: RoundTripDeps<Context>,
): Promise<void> {
  let unfinished = runs
  for (;;) {
    const stillWaiting = unfinished.filter(trial => !runOnce(trial, state))
    if (stillWaiting.length === 0) return
    const hasSent = await sendPending()
    if (!hasSent && stillWaiting.length === unfinished.length) throw new Error('operations wait for each other')
    unfinished = stillWaiting
  }
}

/** Runs an operation once more. @returns true if it has ended */
function runOnce<Context>(run: OperationRun<Context>, state: RunnerState<Context>): boolean {
  const before = state.current
  state.current = run
  run.position = 0
  run.isSuspended = false
  try {
    // An asynchronous operation reports through its promise that it was interrupted.
    const value = markHandled(run.operation())
    if (!run.isSuspended) run.outcome = { value }
  } catch (error) {
    if (error === requiresOwnRun) run.outcome = { mustRunAlone: true }
    else if (!run.isSuspended) throw error
  } finally {
    state.current = before
  }
  return run.outcome !== undefined
}

const [partsStepId, actStepId] = [-1, -2]

/** Runs parts of an operation, each separately, so that a part that waits does not block the next one. */
function runParts<Context, T>(
  parent: OperationRun<Context>,
  state: RunnerState<Context>,
  parts: readonly (() => T)[],
): readonly T[] {
  const runs = nextStepOf(parent, partsStepId, () =>
    parts.map(operation => createOperationRun<Context, T>({ operation }, { ...parent, parent })),
  )
  const stillWaiting = runs.filter(trial => !trial.outcome && !runOnce(trial, state))
  if (stillWaiting.length > 0) suspendRun(parent)
  return runs.map(({ outcome }) => {
    if (!outcome || !('value' in outcome)) throw requiresOwnRun
    return outcome.value
  })
}

function suspendRun(run: OperationRun<unknown>): never {
  run.isSuspended = true
  throw suspended
}

function nextStepOf<Context, S>(run: OperationRun<Context>, id: number, make: () => S): S {
  const earlierStep = run.steps[run.position]
  if (earlierStep && earlierStep.id !== id) throw new Error('an operation does not do the same when it is run again')
  const step = earlierStep ? (earlierStep.step as S) : make()
  if (!earlierStep) run.steps.push({ id, step })
  run.position += 1
  return step
}

// Records the steps of one attempt at a turn: model requests, tool runs, calls to other agents, and stages.
import type { ModelRun, Part, ToolRun } from '@postern/message'
import type { EndedStep, StepEnd, StepStart } from '../../ports/agent/step-recorder.ts'

/** The maximum number of tool runs, and of model requests, in the record of one attempt. */
const maxRuns = 50
/** The maximum number of steps of one attempt in a trace. */
const maxSteps = 500
const maxNameChars = 100

interface NumberedStep {
  /** The number of the step; if the turn has too many steps, the number of its parent. */
  readonly number: number | undefined
  end(end?: StepEnd): void
}

interface RecordedTool {
  readonly name: string
  at: number
  ms?: number
  ok: boolean
  /** True if the agent itself recorded the run, so that the call's parts in the answer change nothing. */
  isRecorded: boolean
  /** True if the end of the call was in a piece of the answer. The complete answer contains it again. */
  isEndReported: boolean
}

/** The steps of one attempt. `onEnd` gets each step when it ends. */
export class StepLog {
  readonly #now: () => number
  readonly #onEnd: (step: EndedStep) => void
  readonly #tools = new Map<string, RecordedTool>()
  readonly #models: ModelRun[] = []
  readonly #openSteps = new Map<number, (end?: StepEnd) => void>()
  #stage: { readonly number: number | undefined; end(): void } | undefined
  #count = 0
  #lastModelStep: number | undefined
  #isClosed = false

  constructor(now: () => number, onEnd: (step: EndedStep) => void) {
    this.#now = now
    this.#onEnd = onEnd
  }

  /** Begins a step, by default inside the current stage. */
  begin(stepStart: StepStart, parent = this.#stage?.number): NumberedStep {
    const { at, ...members } = stepStart
    const start = { ...members, name: clipName(stepStart.name) }
    const startedAt = Math.min(at ?? Number.POSITIVE_INFINITY, this.#now())
    const tool = start.kind === 'tool' ? this.#recordTool(start, startedAt) : undefined
    const number = this.#nextNumber()
    const requestedByStep = tool && this.#lastModelStep
    let isOpen = !this.#isClosed
    const end = (stepEnd: StepEnd = {}) => {
      if (!isOpen) return
      isOpen = false
      const endedAt = Math.max(startedAt, this.#now())
      if (tool) Object.assign(tool, { ms: endedAt - startedAt, ok: stepEnd.failureCode === undefined })
      if (start.kind === 'model') this.#recordModel(start.name, { ...stepEnd, startedAt, endedAt }, number)
      if (number === undefined) return
      this.#openSteps.delete(number)
      this.#onEnd({
        ...start,
        ...stepEnd,
        ...{ number, startedAt, endedAt },
        ...(parent !== undefined && { parent }),
        ...(requestedByStep !== undefined && { requestedByStep }),
      })
    }
    if (number !== undefined && isOpen) this.#openSteps.set(number, end)
    return { number: number ?? parent, end }
  }

  /** Begins a stage and ends the previous one. */
  enter(name: string): void {
    this.#stage?.end()
    this.#stage = undefined
    this.#stage = this.begin({ kind: 'stage', name })
  }

  /** Records the tool calls in a piece of the answer. A call appears when it begins and again when it ends, or only once. */
  recordCalls(parts: readonly Part[]): void {
    for (const part of parts) {
      if (part.kind !== 'tool_call') continue
      const knownTool = this.#tools.get(part.id)
      if (knownTool?.isRecorded || knownTool?.isEndReported) continue
      const hasEnded = part.result !== undefined || part.error !== undefined
      const now = this.#now()
      const tool = knownTool ?? this.#addTool(part.id, { name: clipName(part.name), at: now })
      if (!tool) continue
      tool.ok = part.error === undefined
      if (hasEnded) this.#endToolCall(part.id, tool, { now, isLate: knownTool === undefined })
    }
  }

  /** Ends all open steps at the end of the turn. `failureCode` is the reason why they had not ended. */
  close(failureCode: string): void {
    const stage = this.#stage
    this.#stage = undefined
    for (const [number, end] of [...this.#openSteps]) if (number !== stage?.number) end({ failureCode })
    stage?.end()
    this.#isClosed = true
  }

  get tools(): readonly ToolRun[] {
    return [...this.#tools.values()].map(({ name, at, ms, ok }) => ({ name, at, ...(ms !== undefined && { ms }), ok }))
  }

  get models(): readonly ModelRun[] {
    return this.#models
  }

  #nextNumber(): number | undefined {
    if (this.#count >= maxSteps) return undefined
    this.#count += 1
    return this.#count
  }

  #addTool(id: string, { name, at }: Pick<RecordedTool, 'name' | 'at'>): RecordedTool | undefined {
    if (this.#tools.size >= maxRuns) return undefined
    const tool = { name, at, ok: true, isRecorded: false, isEndReported: false }
    this.#tools.set(id, tool)
    return tool
  }

  #recordTool({ id = '', name }: StepStart, at: number): RecordedTool {
    const tool = this.#tools.get(id) ?? this.#addTool(id, { name, at })
    return Object.assign(tool ?? { name, ok: true, isEndReported: false }, { at, isRecorded: true })
  }

  #recordModel(
    name: string,
    { startedAt, endedAt, failureCode, usage }: StepEnd & Pick<EndedStep, 'startedAt' | 'endedAt'>,
    number: number | undefined,
  ): void {
    this.#lastModelStep = number
    if (this.#models.length >= maxRuns) return
    const { input_tokens, output_tokens } = usage ?? {}
    this.#models.push({
      ...{ name, at: startedAt, ms: endedAt - startedAt, ok: failureCode === undefined },
      ...(input_tokens !== undefined && { input_tokens }),
      ...(output_tokens !== undefined && { output_tokens }),
    })
  }

  /** Records the end of a tool call in the answer. `isLate` is true if nobody reported the beginning of the call, so that its duration is unknown. */
  #endToolCall(
    id: string,
    tool: RecordedTool,
    { now, isLate }: { readonly now: number; readonly isLate: boolean },
  ): void {
    tool.isEndReported = true
    if (this.#isClosed) return
    if (!isLate) tool.ms = now - tool.at
    const number = this.#nextNumber()
    if (number === undefined) return
    const parent = this.#stage?.number
    this.#onEnd({
      ...{ kind: 'tool', name: tool.name, id, number, startedAt: tool.at, endedAt: now },
      ...(parent !== undefined && { parent }),
      ...(!tool.ok && { failureCode: 'failed' }),
    })
  }
}

function clipName(name: string): string {
  return name.slice(0, maxNameChars).toWellFormed()
}

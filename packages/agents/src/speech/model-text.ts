// Reads a model's text: passes on what is for people, and records the rest.
import { DelimiterFilter } from './delimiter-filter.ts'
import type { MarkMatch, WithheldKind } from './marks.ts'
import {
  afterThoughtEnd,
  findMarkAt,
  findStrayEnd,
  mayBecomeMark,
  mayBeginWithMark,
  readReasoningStart,
  readStrayEnd,
} from './marks.ts'
import { ReasoningHabit } from './reasoning-habit.ts'

/** Text that people do not see. */
export interface WithheldText {
  readonly kind: WithheldKind
  readonly text: string
}

export interface ModelTextOptions {
  /** The habit of the model, which says how its text begins; default: never inside a thought. */
  readonly reasoningHabit?: ReasoningHabit | undefined
  /** The delimiter of the gateway's data blocks in this conversation. */
  readonly delimiter?: string | undefined
  /** True if tool calls pass through, because the caller searches for them itself. */
  readonly passesToolCalls?: boolean | undefined
}

/** The maximum length of the withheld text of one answer that is recorded, characters. */
const maxWithheld = 32 * 1024
/** The maximum length of a code span, characters. It also ends on its line. */
const maxCodeSpan = 400
/** The longest closing tag with the surrounding text that must be seen, characters. */
const overlapChars = 60

/** The beginning of a mark, code or a line. A search saves no state for each character, as a repeated group would. */
const special = /[`\n]|<(?:$|[\w/|｜])|◁(?:$|[t/])|\[(?:$|[a-z/])/i

type Stage = 'beginning' | 'waiting' | 'speaking' | 'inside' | 'ended'

/**
 * The text of one answer on its way to people. The result is the same however the text is split. Blanks at its beginning, reasoning, calls of tools
 * and control tokens are left out; in code they stay. The gateway's own data block goes wherever it stands.
 */
export class ModelText {
  readonly #reasoningHabit: ReasoningHabit
  readonly #filter: DelimiterFilter | undefined
  readonly #passesToolCalls: boolean
  /** The text that is not decided yet. */
  #rest = ''
  #stage: Stage = 'beginning'
  /** The open block: its kind, the texts that end it, and the stage of the answer after it. */
  #block: { readonly kind: WithheldKind; readonly close: readonly string[]; readonly after: Stage } | undefined
  #ending: WithheldKind = 'control_token'
  /** True if the text does not begin inside a thought, or the thought is over. */
  #isSettled = false
  /** Blanks that are passed on only with the word after them. */
  #blanks = ''
  #last = ''
  #endsWithMark = false
  #fence: string | undefined
  #isLineStart = true
  #searched = 0
  #withheldChars = 0
  readonly #opened = new Set<string>()
  readonly #withheld: { readonly kind: WithheldKind; text: string }[] = []

  constructor({
    reasoningHabit = new ReasoningHabit('none'),
    delimiter,
    passesToolCalls = false,
  }: ModelTextOptions = {}) {
    this.#reasoningHabit = reasoningHabit
    this.#passesToolCalls = passesToolCalls
    this.#filter =
      delimiter === undefined ? undefined : new DelimiterFilter(delimiter, text => this.#withhold('data_block', text))
  }

  /** The text that people do not see, in its order. */
  get withheld(): readonly WithheldText[] {
    return this.#withheld
  }

  /** Returns the text to pass on now. */
  add(piece: string): string {
    this.#rest += this.#filter ? this.#filter.add(piece) : piece
    return this.#read(false, false)
  }

  /** Records reasoning that the server sends separately. The text then does not begin with reasoning. */
  addReasoning(text: string): void {
    if (text === '') return
    this.#withhold('reasoning', text)
    this.#settle(false)
    if (this.#stage === 'waiting') this.#stage = 'speaking'
  }

  /** Returns the text that was held back. `isCutOff` is true if the model was stopped in the middle. */
  end({ isCutOff = false } = {}): string {
    this.#rest += this.#filter?.add('', true) ?? ''
    const passedText = this.#read(true, isCutOff)
    const endsWithWords = this.#stage === 'speaking' && !this.#endsWithMark
    return endsWithWords ? passedText + this.#blanks : passedText
  }

  #read(isEnd: boolean, isCutOff: boolean): string {
    let passedText = ''
    for (;;) {
      const [left, stage] = [this.#rest.length, this.#stage]
      passedText += this.#step(isEnd, isCutOff)
      if (this.#rest.length === left && this.#stage === stage) return passedText
    }
  }

  #step(isEnd: boolean, isCutOff: boolean): string {
    if (this.#stage === 'speaking') return this.#speak(isEnd)
    if (this.#stage === 'beginning') this.#begin(isEnd)
    else if (this.#stage === 'waiting') this.#wait(isEnd, isCutOff)
    else if (this.#stage === 'inside') this.#skip(isEnd)
    else this.#withhold(this.#ending, this.#take(this.#rest.length))
    return ''
  }

  #begin(isEnd: boolean): void {
    this.#rest = this.#rest.trimStart()
    if (this.#rest === '' || (!isEnd && mayBeginWithMark(this.#rest))) return
    const mark = this.#findMark('beginning')
    const mayBeInside = !this.#isSettled && this.#reasoningHabit.mayBeginInside
    if (mark) this.#enter(mark)
    else this.#stage = mayBeInside ? 'waiting' : 'speaking'
  }

  /** Holds the text back until it is known whether it is a thought. */
  #wait(isEnd: boolean, isCutOff: boolean): void {
    const end = findStrayEnd(this.#rest, Math.max(0, this.#searched - overlapChars), this.#opened)
    if (end && (isEnd || this.#rest.length >= end.index + end.length + afterThoughtEnd)) {
      this.#withhold('reasoning', this.#take(end.index + end.length))
      this.#settle(true)
      this.#stage = 'beginning'
      return
    }
    this.#searched = this.#rest.length
    if (!isEnd) return
    if (isCutOff && this.#reasoningHabit.beginsInside) this.#withhold('reasoning', this.#take(this.#rest.length))
    else if (!isCutOff) this.#settle(false)
    this.#stage = 'speaking'
  }

  #settle(startsInside: boolean): void {
    if (startsInside) this.#opened.clear()
    this.#isSettled = true
    this.#reasoningHabit.learn(startsInside)
  }

  #findMark(where: Parameters<typeof findMarkAt>[1]): MarkMatch | undefined {
    const mark = findMarkAt(this.#rest, where)
    // The end tag of struck-out text (`</s>`) is spelled like an end-of-turn token.
    if (mark?.text.toLowerCase() === '</s>' && this.#opened.has('s')) return undefined
    return mark?.kind === 'tool_call' && this.#passesToolCalls ? undefined : mark
  }

  #enter({ kind, text, close }: MarkMatch): void {
    this.#withhold(kind, this.#take(text.length))
    this.#isLineStart = true
    this.#endsWithMark = true
    if (close === 'none') return
    if (close === 'end') {
      this.#ending = kind
      this.#stage = 'ended'
      return
    }
    if (this.#stage === 'beginning' && kind === 'reasoning') this.#settle(false)
    this.#block = { kind, close, after: this.#stage }
    this.#stage = 'inside'
  }

  #skip(isEnd: boolean): void {
    const { kind, close, after } = this.#block ?? { kind: this.#ending, close: [], after: 'speaking' }
    const lower = this.#rest.toLowerCase()
    const nextMark = close
      .map(end => ({ at: lower.indexOf(end.toLowerCase()), length: end.length }))
      .filter(({ at }) => at >= 0)
      .sort((first, second) => first.at - second.at)[0]
    if (nextMark) {
      this.#withhold(kind, this.#take(nextMark.at + nextMark.length))
      this.#stage = after
      return
    }
    const withheldChars = isEnd ? 0 : Math.max(0, ...close.map(end => end.length)) - 1
    if (this.#rest.length > withheldChars) this.#withhold(kind, this.#take(this.#rest.length - withheldChars))
  }

  /** Reads one piece of the text: ordinary words, the end of a line, code, or a mark. */
  #speak(isEnd: boolean): string {
    if (this.#rest === '') return ''
    if (this.#isLineStart && /^ {0,3}[`~]/.test(this.#rest)) return this.#readFence(isEnd)
    const [first = ''] = this.#rest
    if (first === '\n') return this.#pass(1)
    if (this.#fence === undefined) {
      if (first === '`') return this.#readCodeSpan(isEnd)
      if (/[<◁[]/.test(first) && !/^.[^\w/|｜]/.test(this.#rest)) return this.#readMark(isEnd)
    }
    const end = this.#rest.search(special)
    return this.#pass(end < 0 ? this.#rest.length : Math.max(1, end))
  }

  #readFence(isEnd: boolean): string {
    const [fence = '', run = ''] = /^ {0,3}(`+|~+)/.exec(this.#rest) ?? []
    if (fence.length === this.#rest.length && !isEnd) return ''
    this.#isLineStart = false
    const isSpan = run.length < 3 && run.startsWith('`') && this.#fence === undefined
    if (isSpan && fence === run) return this.#readCodeSpan(isEnd)
    if (run.length < 3) return this.#pass(isSpan ? fence.length - run.length : fence.length)
    if (this.#fence === undefined) this.#fence = run
    else if (run.startsWith(this.#fence)) this.#fence = undefined
    return this.#pass(fence.length)
  }

  #readCodeSpan(isEnd: boolean): string {
    const span = this.#rest.slice(0, maxCodeSpan)
    const [run = ''] = /^`+/.exec(span) ?? []
    if (run.length === span.length && span.length < maxCodeSpan && !isEnd) return ''
    const line = span.split('\n', 1)[0] ?? ''
    const end = new RegExp(`(?<!\`)${run}(?!\`)`).exec(line.slice(run.length))
    const isOpen = !end || run.length + end.index + run.length === span.length
    if (isOpen && line.length === span.length && span.length < maxCodeSpan && !isEnd) return ''
    return this.#pass(end ? run.length * 2 + end.index : run.length)
  }

  #readMark(isEnd: boolean): string {
    if (!isEnd && mayBecomeMark(this.#rest)) return ''
    const mark = this.#findMark(this.#isLineStart ? 'line' : 'anywhere')
    if (mark) {
      this.#enter(mark)
      return ''
    }
    const stray = readStrayEnd(this.#rest, this.#last + this.#blanks, this.#opened)
    if (stray) {
      if (!isEnd && this.#rest.length < stray.length + afterThoughtEnd) return ''
      // The thought before this mark has been passed on already. Only the next answer can still be held back.
      this.#withhold('control_token', this.#take(stray.length))
      this.#settle(true)
      return ''
    }
    const name = /^<s>/i.test(this.#rest) ? 's' : readReasoningStart(this.#rest)
    if (name !== undefined) this.#opened.add(name)
    return this.#pass(1)
  }

  #pass(length: number): string {
    const text = this.#blanks + this.#take(length)
    const visibleText = text.trimEnd()
    this.#blanks = text.slice(visibleText.length)
    if (text.endsWith('\n')) this.#isLineStart = true
    else if (visibleText !== '') this.#isLineStart = false
    if (visibleText === '') return ''
    this.#last = visibleText.slice(-2)
    this.#endsWithMark = false
    return visibleText
  }

  #take(length: number): string {
    const text = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    return text
  }

  #withhold(kind: WithheldKind, text: string): void {
    const keptText = text.slice(0, Math.max(0, maxWithheld - this.#withheldChars))
    if (keptText === '') return
    this.#withheldChars += keptText.length
    const last = this.#withheld.at(-1)
    if (last?.kind === kind) last.text += keptText
    else this.#withheld.push({ kind, text: keptText })
  }
}

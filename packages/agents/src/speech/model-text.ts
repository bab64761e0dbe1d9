// Reads a model's text: passes on what is for people, and records the rest.
import { DelimiterFilter } from './delimiter-filter.ts'
import { OpenThought } from './open-thought.ts'
import { ReasoningHabit } from './reasoning-habit.ts'
import type { MarkMatch, WithheldKind } from './text-marks.ts'
import { findMarkAt, mayBecomeMark, mayBeginWithMark, OpenTags, readThoughtMark, ThoughtScanner } from './text-marks.ts'

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
  /** True if nobody reads the text before its end, so that it may wait for the end whatever the habit is. */
  readonly waitsForEnd?: boolean | undefined
}

/** The maximum length of the withheld text of one answer that is recorded, characters. */
const maxWithheldChars = 32 * 1024
/** The maximum length of a code span, characters. It also ends on its line. */
const maxCodeSpanChars = 400
/** Matches the blanks and invisible characters before the first visible character of a text or a line. */
const blankBeginningPattern = /^[\s\u200B-\u200D\u2060]+/
const onlyBlanksPattern = /^[\s\u200B-\u200D\u2060]*$/

/** Matches the characters with which a mark, code or a line may begin. The pattern has no repeated group, so a search does not store a state for each character. */
const boundaryPattern = /[`\n]|<(?:$|[\w/|｜])|◁(?:$|[t/])|\[(?:$|[a-z/])/i

type ParseState = 'beginning' | 'waiting' | 'speaking' | 'inside' | 'ended'

/**
 * Reads the text of one answer. The result is the same however the text is split. It drops leading blanks, reasoning, tool calls and control
 * tokens, except inside code. It drops the gateway's data block everywhere.
 */
export class ModelText {
  readonly #reasoningHabit: ReasoningHabit
  readonly #filter: DelimiterFilter | undefined
  readonly #passesToolCalls: boolean
  #waitsForEnd: boolean
  /** Text of which it is not decided yet whether it is passed on. */
  #undecidedText = ''
  #hasEnded = false
  /** True if the model was stopped in the middle. */
  #isCutOff = false
  #state: ParseState = 'beginning'
  /** The open block: its kind, the texts that end it, and the state after it. */
  #block:
    | {
        readonly kind: WithheldKind
        readonly close: readonly string[]
        readonly stateAfter: ParseState
        /** Finds the end of a block that may contain others of its kind. */
        readonly thought?: OpenThought | undefined
      }
    | undefined
  /** The kind of everything after the end mark. */
  #endKind: WithheldKind = 'control_token'
  /** True if it is known whether the text began inside a thought. */
  #isBeginningKnown = false
  /** Blanks that are passed on only with the word after them. */
  #blanks = ''
  /** The last two characters that were passed on. */
  #lastPassedChars = ''
  #endsWithMark = false
  #fence: string | undefined
  #isLineStart = true
  /** The text that waits, without its end, which the scanner has. */
  #waitingText = ''
  readonly #scanner = new ThoughtScanner()
  #withheldChars = 0
  /** The tags of thoughts inside a text that is passed on. */
  readonly #openTags = new OpenTags()
  /** True if the text has struck-out text (`<s>`). */
  #hasStruckText = false
  readonly #withheld: { readonly kind: WithheldKind; text: string }[] = []

  constructor({
    reasoningHabit = new ReasoningHabit('none'),
    delimiter,
    passesToolCalls = false,
    waitsForEnd = false,
  }: ModelTextOptions = {}) {
    this.#reasoningHabit = reasoningHabit
    this.#passesToolCalls = passesToolCalls
    this.#waitsForEnd = waitsForEnd
    this.#filter =
      delimiter === undefined ? undefined : new DelimiterFilter(delimiter, text => this.#withhold('data_block', text))
  }

  /** The text that people do not see, in its order. */
  get withheld(): readonly WithheldText[] {
    return this.#withheld
  }

  /** Returns the text to pass on now. */
  add(text: string): string {
    this.#undecidedText += this.#filter ? this.#filter.add(text) : text
    return this.#readDecided()
  }

  /** Lets the text wait for its end if it has not begun, because it comes whole. */
  waitForEnd(): void {
    this.#waitsForEnd = true
  }

  /** Records reasoning that the server sends separately. The text then does not begin with reasoning. */
  addReasoning(text: string): void {
    if (text === '') return
    this.#withhold('reasoning', text)
    this.#learnBeginning(false)
    if (this.#state === 'waiting') this.#stopWaiting()
  }

  /** Ends the text, and returns what was held back. `isCutOff` is true if the model was stopped in the middle. */
  end({ isCutOff = false } = {}): string {
    this.#undecidedText += this.#filter?.add('', true) ?? ''
    this.#hasEnded = true
    this.#isCutOff = isCutOff
    const passedText = this.#readDecided()
    const endsWithWords = this.#state === 'speaking' && !this.#endsWithMark
    return endsWithWords ? passedText + this.#blanks : passedText
  }

  #readDecided(): string {
    let passedText = ''
    for (;;) {
      const [previousLength, previousState] = [this.#undecidedText.length, this.#state]
      passedText += this.#step()
      if (this.#undecidedText.length === previousLength && this.#state === previousState) return passedText
    }
  }

  #step(): string {
    if (this.#state === 'speaking') return this.#speak()
    if (this.#state === 'beginning') this.#begin()
    else if (this.#state === 'waiting') this.#wait()
    else if (this.#state === 'inside') this.#skip()
    else this.#withhold(this.#endKind, this.#take(this.#undecidedText.length))
    return ''
  }

  #begin(): void {
    this.#undecidedText = this.#undecidedText.replace(blankBeginningPattern, '')
    if (this.#undecidedText === '' || (!this.#hasEnded && mayBeginWithMark(this.#undecidedText))) return
    const mark = this.#findMark('beginning')
    const mayBeInside = !this.#isBeginningKnown && (this.#waitsForEnd || this.#reasoningHabit.mayBeginInside)
    if (mark) this.#enter(mark)
    else this.#state = mayBeInside ? 'waiting' : 'speaking'
  }

  /** Holds the text back until it is known whether it is a thought. */
  #wait(): void {
    this.#scanner.add(this.#take(this.#undecidedText.length))
    for (let mark = this.#scanner.next(this.#hasEnded); mark; mark = this.#scanner.next(this.#hasEnded)) {
      const { isOpening, isMention, tag, end } = mark
      if (isOpening) {
        if (!isMention) this.#openTags.open(tag)
      } else if (!this.#openTags.close(tag) && !isMention) {
        this.#withhold('reasoning', this.#waitingText + this.#scanner.take(end))
        this.#waitingText = ''
        this.#learnBeginning(true)
        this.#stopWaiting('beginning')
        return
      }
    }
    this.#waitingText += this.#scanner.takeScanned()
    if (!this.#hasEnded) return
    this.#stopWaiting()
    if (this.#isCutOff && this.#reasoningHabit.beginsInside)
      this.#withhold('reasoning', this.#take(this.#undecidedText.length))
    else if (!this.#isCutOff) this.#learnBeginning(false)
  }

  /** Continues with the text that has waited. */
  #stopWaiting(state: ParseState = 'speaking'): void {
    this.#undecidedText = this.#waitingText + this.#scanner.take() + this.#undecidedText
    this.#waitingText = ''
    this.#openTags.clear()
    this.#state = state
  }

  #learnBeginning(startsInside: boolean): void {
    this.#isBeginningKnown = true
    this.#reasoningHabit.learn(startsInside)
  }

  #findMark(where: Parameters<typeof findMarkAt>[1]): MarkMatch | undefined {
    const mark = findMarkAt(this.#undecidedText, where)
    // The end tag of struck-out text (`</s>`) is spelled like an end-of-turn token.
    if (mark?.text.toLowerCase() === '</s>' && this.#hasStruckText) return undefined
    return mark?.kind === 'tool_call' && this.#passesToolCalls ? undefined : mark
  }

  #enter({ kind, text, close, pair }: MarkMatch): void {
    this.#withhold(kind, this.#take(text.length))
    this.#isLineStart = true
    this.#endsWithMark = true
    if (close === 'none') return
    if (close === 'end') {
      this.#endKind = kind
      this.#state = 'ended'
      return
    }
    if (this.#state === 'beginning' && kind === 'reasoning') this.#learnBeginning(false)
    this.#block = { kind, close, stateAfter: this.#state, thought: pair && new OpenThought(pair) }
    this.#state = 'inside'
  }

  #skip(): void {
    const { kind, close, stateAfter, thought } = this.#block ?? {
      kind: this.#endKind,
      close: [],
      stateAfter: 'speaking',
    }
    if (thought) {
      this.#skipThought(thought, stateAfter)
      return
    }
    const lowerCaseText = this.#undecidedText.toLowerCase()
    const nextMark = close
      .map(end => ({ at: lowerCaseText.indexOf(end.toLowerCase()), length: end.length }))
      .filter(({ at }) => at >= 0)
      .sort((first, second) => first.at - second.at)[0]
    if (nextMark) {
      this.#withhold(kind, this.#take(nextMark.at + nextMark.length))
      this.#state = stateAfter
      return
    }
    const withheldChars = this.#hasEnded ? 0 : Math.max(0, ...close.map(end => end.length)) - 1
    if (this.#undecidedText.length > withheldChars)
      this.#withhold(kind, this.#take(this.#undecidedText.length - withheldChars))
  }

  #skipThought(thought: OpenThought, stateAfter: ParseState): void {
    const thoughtText = thought.add(this.#take(this.#undecidedText.length))
    this.#withhold('reasoning', thoughtText.inside)
    const { inside = '', after } =
      thoughtText.after === undefined && this.#hasEnded ? thought.end(this.#isCutOff) : { after: thoughtText.after }
    this.#withhold('reasoning', inside)
    if (after === undefined) return
    this.#undecidedText = after
    this.#state = stateAfter
  }

  /** Reads the next token of the text: ordinary words, the end of a line, code, or a mark. */
  #speak(): string {
    if (this.#undecidedText === '') return ''
    if (this.#isLineStart && /^ {0,3}[`~]/.test(this.#undecidedText)) return this.#readFence()
    const [firstChar = ''] = this.#undecidedText
    if (firstChar === '\n') return this.#pass(1)
    if (this.#fence === undefined) {
      if (firstChar === '`') return this.#readCodeSpan()
      if (/[<◁[]/.test(firstChar) && !/^.[^\w/|｜]/.test(this.#undecidedText)) return this.#readMark()
    }
    const end = this.#undecidedText.search(boundaryPattern)
    return this.#pass(end < 0 ? this.#undecidedText.length : Math.max(1, end))
  }

  #readFence(): string {
    const [fence = '', run = ''] = /^ {0,3}(`+|~+)/.exec(this.#undecidedText) ?? []
    if (fence.length === this.#undecidedText.length && !this.#hasEnded) return ''
    this.#isLineStart = false
    const isSpan = run.length < 3 && run.startsWith('`') && this.#fence === undefined
    if (isSpan && fence === run) return this.#readCodeSpan()
    if (run.length < 3) return this.#pass(isSpan ? fence.length - run.length : fence.length)
    if (this.#fence === undefined) this.#fence = run
    else if (run.startsWith(this.#fence)) this.#fence = undefined
    return this.#pass(fence.length)
  }

  #readCodeSpan(): string {
    const span = this.#undecidedText.slice(0, maxCodeSpanChars)
    const [run = ''] = /^`+/.exec(span) ?? []
    if (run.length === span.length && span.length < maxCodeSpanChars && !this.#hasEnded) return ''
    const line = span.split('\n', 1)[0] ?? ''
    const end = new RegExp(`(?<!\`)${run}(?!\`)`).exec(line.slice(run.length))
    const isOpen = !end || run.length + end.index + run.length === span.length
    if (isOpen && line.length === span.length && span.length < maxCodeSpanChars && !this.#hasEnded) return ''
    return this.#pass(end ? run.length * 2 + end.index : run.length)
  }

  #readMark(): string {
    if (!this.#hasEnded && mayBecomeMark(this.#undecidedText)) return ''
    const mark = this.#findMark(this.#isLineStart ? 'line' : 'anywhere')
    if (mark) {
      this.#enter(mark)
      return ''
    }
    const textBefore = this.#lastPassedChars + this.#blanks
    const thoughtMark = readThoughtMark(this.#undecidedText, { before: textBefore, hasEnded: this.#hasEnded })
    if (thoughtMark === 'incomplete') return ''
    if (thoughtMark && !thoughtMark.isOpening && !this.#openTags.close(thoughtMark.tag) && !thoughtMark.isMention) {
      // The thought before this mark has been passed on already. Only the next answer can still be held back.
      this.#withhold('control_token', this.#take(thoughtMark.end))
      this.#learnBeginning(true)
      return ''
    }
    if (thoughtMark?.isOpening && !thoughtMark.isMention) this.#openTags.open(thoughtMark.tag)
    if (/^<s>/i.test(this.#undecidedText)) this.#hasStruckText = true
    return this.#pass(1)
  }

  #pass(length: number): string {
    const text = this.#blanks + this.#take(length)
    const visibleText = text.trimEnd()
    this.#blanks = text.slice(visibleText.length)
    if (text.endsWith('\n')) this.#isLineStart = true
    else if (!onlyBlanksPattern.test(visibleText)) this.#isLineStart = false
    if (visibleText === '') return ''
    this.#lastPassedChars = visibleText.slice(-2)
    this.#endsWithMark = false
    return visibleText
  }

  #take(length: number): string {
    const text = this.#undecidedText.slice(0, length)
    this.#undecidedText = this.#undecidedText.slice(length)
    return text
  }

  #withhold(kind: WithheldKind, text: string): void {
    const recordedText = text.slice(0, Math.max(0, maxWithheldChars - this.#withheldChars))
    if (recordedText === '') return
    this.#withheldChars += recordedText.length
    const lastText = this.#withheld.at(-1)
    if (lastText?.kind === kind) lastText.text += recordedText
    else this.#withheld.push({ kind, text: recordedText })
  }
}

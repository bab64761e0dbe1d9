// Collects the text of a run: passes on what people read, and records what they do not see.
import { maxAnswerBytes } from '@postern/message'
import type { WithheldText } from '../../speech/model-text.ts'
import { ModelText } from '../../speech/model-text.ts'
import { ReasoningHabit } from '../../speech/reasoning-habit.ts'

/** The maximum length of an answer, characters. An answer with fewer bytes cannot have more characters. */
const maxChars = maxAnswerBytes
/** The maximum length of the recorded reasoning, characters. */
const maxWithheldChars = 256 * 1024

/** The text of one run. Each method that accepts text returns the text to pass on now. */
export class RunText {
  readonly #reasoningHabit: ReasoningHabit
  readonly #waitsForEnd: boolean
  readonly #ignoredMessageIds = new Set<string>()
  readonly #withheld: WithheldText[] = []
  #withheldChars = 0
  #messageId: string | undefined
  /** Parses the text of the present message. */
  #modelText: ModelText | undefined
  #passedChars = 0
  /** True if a message has ended, and no text of the next message was passed on yet. */
  #isBetweenMessages = false

  /** `waitsForEnd` is true if nobody reads a message before its end. */
  constructor(reasoningHabit: ReasoningHabit, { waitsForEnd = false } = {}) {
    this.#reasoningHabit = reasoningHabit
    this.#waitsForEnd = waitsForEnd
  }

  /** The id of the message that the latest text belongs to. */
  get messageId(): string | undefined {
    return this.#messageId
  }

  /** True if nothing was passed on. */
  get isEmpty(): boolean {
    return this.#passedChars === 0
  }

  /** True if the server has written a message, even one that contains only blanks. */
  get hasMessage(): boolean {
    return !this.isEmpty || this.#isBetweenMessages
  }

  get withheld(): WithheldText[] {
    return this.#withheld
  }

  /** Ignores a message that is not part of the answer. */
  ignoreMessage(id: string): void {
    this.#ignoredMessageIds.add(id)
  }

  /** Adds text of a message; without an id, the text belongs to the previous message. An empty line separates two messages of one run. */
  add(text: string, messageId = this.#messageId): readonly string[] {
    if (text === '' || (messageId && this.#ignoredMessageIds.has(messageId))) return []
    const previousMessageEnd = messageId === this.#messageId ? [] : this.endMessage()
    this.#messageId = messageId
    this.#modelText ??= new ModelText({ reasoningHabit: this.#reasoningHabit, waitsForEnd: this.#waitsForEnd })
    return [...previousMessageEnd, ...this.#pass(this.#modelText.add(text))]
  }

  /** Adds the whole answer of a server that does not stream text. */
  addSnapshot(text: string): readonly string[] {
    this.#modelText = new ModelText({ reasoningHabit: new ReasoningHabit('first') })
    return [...this.#pass(this.#modelText.add(text)), ...this.endMessage()]
  }

  /** Records text that the server marks as its reasoning. */
  addReasoning(text: string): void {
    if (text === '' || this.#withheldChars + text.length > maxWithheldChars) return
    this.#withheldChars += text.length
    const lastText = this.#withheld.at(-1)
    if (lastText?.kind === 'reasoning')
      this.#withheld[this.#withheld.length - 1] = { kind: 'reasoning', text: lastText.text + text }
    else this.#withheld.push({ kind: 'reasoning', text })
    this.#reasoningHabit.learn(false)
  }

  /** Ends the message that the latest text belongs to. */
  endMessage(): readonly string[] {
    const modelText = this.#modelText
    if (!modelText) return []
    const texts = this.#pass(modelText.end())
    for (const part of modelText.withheld) {
      this.#withheld.push(part)
      this.#withheldChars += part.text.length
    }
    this.#modelText = undefined
    this.#isBetweenMessages = true
    return texts
  }

  #pass(text: string): readonly string[] {
    if (text === '') return []
    const separatedText = !this.isEmpty && this.#isBetweenMessages ? `\n\n${text}` : text
    this.#isBetweenMessages = false
    this.#passedChars += separatedText.length
    if (this.#passedChars > maxChars) throw new Error(`The AG-UI server said more than ${maxChars} characters`)
    return [separatedText]
  }
}

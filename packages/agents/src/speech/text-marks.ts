// Lists the marks in a model's text that are not for people, in the forms of many models.

/** The kind of text that people do not see. */
export type WithheldKind = 'reasoning' | 'tool_call' | 'control_token' | 'data_block'

/** A mark that begins text that is not for people. */
interface Mark {
  readonly kind: WithheldKind
  /** Matches the mark at `lastIndex` (sticky). */
  readonly open: RegExp
  /**
   * Returns the texts that end the marked text, by the groups of `open`. With `end`, all text after the mark belongs to it. With `none`, the mark has
   * no content.
   */
  readonly close: ((groups: Readonly<Record<string, string | undefined>>) => readonly string[]) | 'end' | 'none'
  /** Matches the marks that open and end such text, if the text may contain others of its kind. */
  readonly pair?: ((groups: Readonly<Record<string, string | undefined>>) => RegExp) | undefined
  /** The position at which the mark counts: at the beginning of the answer, at the beginning of a line, or anywhere. */
  readonly where: 'beginning' | 'line' | 'anywhere'
}

/**
 * The names of reasoning tags. DeepSeek, Qwen, GLM and MiniMax write `think`, Seed-OSS `seed:think`, Anthropic's models `thinking`, Gemini behind
 * proxies `thought`, LongCat `longcat_think`, and Nous `reasoning`. Prompts that ask for reasoning use `reflection`, `inner_monologue` and
 * `scratchpad`, too.
 */
const thoughtTagPattern =
  '(?:[\\w-]{1,16}[:_])?(?:think|(?:ant)?thinking|thoughts?|reasoning|reflection|inner_monologue|scratchpad)'
/** The attributes of a start tag. */
const attributesPattern = '(?:\\s[^>\\n]{0,80})?'
const toolTagPattern =
  '(?:[\\w-]{1,16}:)?(?:tool_?calls?|function_?calls?|tool_?use|tool_?code|invoke|tool_?(?:response|results?)|function_?results?)'
const closeByName = ({ tag = '' }: Readonly<Record<string, string | undefined>>) => [`</${tag}>`]
const createPair = (opening: string, end: string) => () => new RegExp(`(?<opening>${opening})|${end}`, 'gi')
const pairByName = ({ tag = '' }: Readonly<Record<string, string | undefined>>) =>
  createPair(`<${tag}${attributesPattern}>`, `</${tag}[^\\S\\n]{0,3}>`)()
/** A token counts only if no sentence continues after it on its line, so that a text may mention one. */
const lineEndLookahead = '(?=[^\\S\\n]*(?:$|\\n|<[|｜]?[\\w/]))'

const toStickyPattern = (pattern: string) => new RegExp(pattern, 'iy')

/** All marks, in the order in which they are tried. The first match counts. */
const marks: readonly Mark[] = [
  // Reasoning. A tag in the middle of a line, or before a space, only mentions the tag.
  {
    kind: 'reasoning',
    open: toStickyPattern(`<(?<tag>${thoughtTagPattern})${attributesPattern}>`),
    close: closeByName,
    pair: pairByName,
    where: 'beginning',
  },
  {
    kind: 'reasoning',
    open: toStickyPattern(`<(?<tag>${thoughtTagPattern})${attributesPattern}>(?=\\n|\\S)`),
    close: closeByName,
    pair: pairByName,
    where: 'line',
  },
  // Kimi uses this form.
  {
    kind: 'reasoning',
    open: toStickyPattern('◁think▷'),
    close: () => ['◁/think▷'],
    pair: createPair('◁think▷', '◁/think▷'),
    where: 'anywhere',
  },
  // Magistral uses this form.
  {
    kind: 'reasoning',
    open: toStickyPattern('\\[THINK\\](?=\\n|\\S)'),
    close: () => ['[/THINK]'],
    pair: createPair('\\[THINK\\]', '\\[/THINK\\]'),
    where: 'line',
  },
  // Harmony (gpt-oss): the channels `analysis` and `commentary` are not for people.
  {
    kind: 'reasoning',
    open: toStickyPattern(
      '<\\|channel\\|>\\s{0,9}(?:analysis|commentary)[^<]{0,80}(?:<\\|constrain\\|>\\w{0,16})?<\\|message\\|>',
    ),
    close: () => ['<|end|>', '<|call|>', '<|start|>assistant', '<|channel|>final<|message|>'],
    where: 'anywhere',
  },
  // Servers that remove special tokens from the text leave this form of Harmony.
  {
    kind: 'reasoning',
    open: toStickyPattern('analysis(?=[A-Z])'),
    close: () => ['assistantfinal'],
    where: 'beginning',
  },
  // Gemma uses this form.
  { kind: 'reasoning', open: toStickyPattern('<\\|channel>thought'), close: () => ['<channel|>'], where: 'anywhere' },
  // MedGemma uses this form.
  {
    kind: 'reasoning',
    open: toStickyPattern('<unused94>(?:thought)?'),
    close: () => ['<unused95>'],
    where: 'anywhere',
  },
  // Command A and Sky-T1 use this form.
  {
    kind: 'reasoning',
    open: toStickyPattern('<\\|START_THINKING\\|>'),
    close: () => ['<|END_THINKING|>'],
    where: 'anywhere',
  },
  {
    kind: 'reasoning',
    open: toStickyPattern('<\\|begin_of_thought\\|>'),
    close: () => ['<|end_of_thought|>'],
    where: 'anywhere',
  },
  // These are tool calls that a server has not parsed.
  {
    kind: 'tool_call',
    open: toStickyPattern(`<(?<tag>${toolTagPattern})${attributesPattern}>`),
    close: closeByName,
    where: 'line',
  },
  {
    kind: 'tool_call',
    open: toStickyPattern(`<(?<tag>${toolTagPattern})${attributesPattern}>(?=\\s*[{<[])`),
    close: closeByName,
    where: 'anywhere',
  },
  {
    kind: 'tool_call',
    open: toStickyPattern('<(?<tag>function)=[\\w.:-]{1,64}>'),
    close: closeByName,
    where: 'anywhere',
  },
  {
    kind: 'tool_call',
    open: toStickyPattern('<\\|tool_calls_section_begin\\|>'),
    close: () => ['<|tool_calls_section_end|>'],
    where: 'anywhere',
  },
  {
    kind: 'tool_call',
    open: toStickyPattern('<[|｜]tool[▁_]calls?[▁_]begin[|｜]>'),
    close: () => ['<｜tool▁calls▁end｜>', '<|tool_call_end|>'],
    where: 'anywhere',
  },
  // DeepSeek V3.2 writes its calls in these tags.
  {
    kind: 'tool_call',
    open: toStickyPattern('<(?<tag>[|｜]DSML[|｜](?:function_calls|invoke))[^>\\n]{0,80}>'),
    close: closeByName,
    where: 'anywhere',
  },
  {
    kind: 'tool_call',
    open: toStickyPattern('<\\|START_ACTION\\|>'),
    close: () => ['<|END_ACTION|>'],
    where: 'anywhere',
  },
  {
    kind: 'tool_call',
    open: toStickyPattern('\\[TOOL_CALLS?\\](?=\\s*[\\w[{])|<\\|(?:python_tag|tool_call|action_start)\\|>'),
    close: 'end',
    where: 'anywhere',
  },
  // These are headers of the model's own turn.
  {
    kind: 'control_token',
    open: toStickyPattern(
      '<\\|im_start\\|>assistant\\s?|<\\|message\\|>|<\\|start_header_id\\|>assistant<\\|end_header_id\\|>\\s?|<start_of_turn>model\\s?|<s>(?=\\s*$)|<bos>|<[|｜]begin[▁_]of[▁_](?:sentence|text)[|｜]>|<\\|assistant\\|>|<｜Assistant｜>|\\[/INST\\]',
    ),
    close: 'none',
    where: 'beginning',
  },
  {
    kind: 'control_token',
    open: toStickyPattern(
      '<\\|start\\|>assistant|<\\|channel\\|>\\s{0,9}final[^<]{0,80}<\\|message\\|>|<\\|(?:START|END)_RESPONSE\\|>|<\\|(?:begin|end)_of_(?:solution|box)\\|>',
    ),
    close: 'none',
    where: 'anywhere',
  },
  // This is the end of the turn. A model that writes more after it invents somebody else's turn.
  {
    kind: 'control_token',
    open: toStickyPattern(
      `(?:<\\|(?:im_end|im_start|end|endoftext|end_of_text|eot_id|eom_id|eot|return|call|user|system|assistant|start_header_id|end_of_turn|end_of_turn_token)\\|>|<(?:end|start)_of_turn>|<eos>|<pad>|\\[/INST\\]|<｜(?:end▁of▁sentence|User|Assistant)｜>)${lineEndLookahead}|</s>(?=\\s*$)`,
    ),
    close: 'end',
    where: 'anywhere',
  },
  // These are other tokens of this form, after which the answer may continue.
  {
    kind: 'control_token',
    open: toStickyPattern(`<\\|[a-z][a-z_]{1,24}\\|>${lineEndLookahead}`),
    close: 'none',
    where: 'anywhere',
  },
  {
    kind: 'control_token',
    open: toStickyPattern(
      '<\\|(?:im_start|start)\\|>(?:user|system|tool)\\b|<\\|start_header_id\\|>\\w{1,16}<\\|end_header_id\\|>|<start_of_turn>user\\b',
    ),
    close: 'end',
    where: 'anywhere',
  },
]

/** The longest beginning of a mark that must be seen before it is decided, characters. */
const maxMarkChars = 160

/** The beginning of a mark that is not for people. */
export interface MarkMatch {
  readonly kind: WithheldKind
  readonly text: string
  readonly close: readonly string[] | 'end' | 'none'
  /** Matches the marks that open (group `opening`) and end such text, if the text may contain others of its kind. */
  readonly pair?: RegExp | undefined
}

/** A quick test, because most characters that might begin a mark do not begin one. */
const markLikePattern = /^(?:<(?:[\w|｜]|\/s>)|◁t|\[\/?[A-Z])/i

/** Finds the mark that a text begins with. */
export function findMarkAt(text: string, position: Mark['where']): MarkMatch | undefined {
  if (position !== 'beginning' && !markLikePattern.test(text)) return undefined
  for (const { kind, open, close, pair, where } of marks) {
    if (where === 'beginning' && position !== 'beginning') continue
    if (where === 'line' && position === 'anywhere') continue
    open.lastIndex = 0
    const match = open.exec(text)
    if (!match) continue
    const { groups = {} } = match
    return {
      kind,
      text: match[0],
      close: typeof close === 'function' ? close(groups) : close,
      pair: pair?.(groups),
    }
  }
  return undefined
}

/** Returns true if a text that ends here may be the beginning of a mark. */
export function mayBecomeMark(undecidedText: string): boolean {
  if (undecidedText.length >= maxMarkChars) return false
  // The header of a channel contains several marks.
  if (/^<\|channel\|>/i.test(undecidedText)) return !/<\|message\|>/i.test(undecidedText)
  return /^(?:<(?:$|[\w/|｜])[^>\n]*(?:>\s*)?$|<[|｜][\w▁ |｜]*>[^<\n]{0,90}(?:<[^>\n]*>?\s*)?$|◁(?:$|\/?t[^▷\n]*▷?$)|\[\/?[A-Z_]{0,16}(?:\]\s*)?$)/i.test(
    undecidedText,
  )
}

/** Returns true if an answer with this beginning may begin with a mark that has no special character. */
export function mayBeginWithMark(undecidedText: string): boolean {
  return 'analysis'.startsWith(undecidedText) || mayBecomeMark(undecidedText)
}

const thoughtEndPattern = `</(?<ended>${thoughtTagPattern})[^\\S\\n]{0,3}>|◁/think▷|\\[/THINK\\]|<\\|END_THINKING\\|>|<\\|end_of_thought\\|>`
const thoughtOpeningPattern = `<(?<opened>${thoughtTagPattern})${attributesPattern}>`
const leadingThoughtMarkPattern = new RegExp(`^(?:(?<opening>${thoughtOpeningPattern})|${thoughtEndPattern})`, 'i')
const thoughtMarkPattern = new RegExp(`(?<opening>${thoughtOpeningPattern})|${thoughtEndPattern}`, 'gi')

/** Matches a quotation mark or bracket that opens: one behind a letter or the end of a sentence closes instead. */
const openingQuotePattern = /(?:^|[^\p{L}\p{N}.,;:!?…])["'`“”‘’«»([{]$/u
const closingQuotePattern = /^["'`“”‘’«»)\]}]/

/** The number of characters around a tag that distinguish it from a mention of the tag. */
const contextChars = 2

/** Returns true if a tag stands in quotes or in the middle of a sentence. Such a tag is only a mention, and opens or ends nothing. */
function isMention(textBefore: string, textAfter: string): boolean {
  if (openingQuotePattern.test(textBefore) && closingQuotePattern.test(textAfter)) return true
  return /[\p{L}\p{N},][^\S\n]$/u.test(textBefore) && /^(?:[^\S\n][\p{Ll}\p{N}]|[.,;:!?])/u.test(textAfter)
}

/** A mark that opens or ends a thought. */
export interface ThoughtMark {
  readonly isOpening: boolean
  readonly isMention: boolean
  /** The name of the tag, in lower case; empty if it is not a tag. */
  readonly tag: string
  /** The length of the text up to the end of the mark. */
  readonly end: number
}

function describeMark({ 0: mark, groups = {} }: RegExpExecArray, textBefore: string, textAfter: string): ThoughtMark {
  return {
    isOpening: groups.opening !== undefined,
    isMention: isMention(textBefore, textAfter),
    tag: (groups.opened ?? groups.ended ?? '').toLowerCase(),
    end: mark.length,
  }
}

/** Reads the mark of a thought that the text begins with. Returns undefined if there is none, and `incomplete` if more text must decide. */
export function readThoughtMark(
  text: string,
  { before: textBefore, hasEnded }: { readonly before: string; readonly hasEnded: boolean },
): ThoughtMark | 'incomplete' | undefined {
  const match = leadingThoughtMarkPattern.exec(text)
  if (!match) return undefined
  const [{ length }] = match
  if (!hasEnded && text.length < length + contextChars) return 'incomplete'
  return describeMark(match, textBefore.slice(-contextChars), text.slice(length, length + contextChars))
}

/** Finds the marks of thoughts in a text that arrives in pieces. It keeps only the end of the text, so its time is linear. */
export class ThoughtScanner {
  readonly #pattern: RegExp
  #text = ''
  #position = 0

  /** `pattern` matches the marks, and those that open in the group `opening`; default: the marks of all thoughts. */
  constructor(pattern = thoughtMarkPattern) {
    this.#pattern = pattern
  }

  add(text: string): void {
    this.#text += text
  }

  /** Returns the next mark; undefined if there is none, or if more text must decide. */
  next(hasEnded: boolean): ThoughtMark | undefined {
    this.#pattern.lastIndex = this.#position
    const match = this.#pattern.exec(this.#text)
    if (!match) return undefined
    const end = match.index + match[0].length
    this.#position = match.index
    if (!hasEnded && this.#text.length < end + contextChars) return undefined
    this.#position = end
    const textBefore = this.#text.slice(Math.max(0, match.index - contextChars), match.index)
    return { ...describeMark(match, textBefore, this.#text.slice(end, end + contextChars)), end }
  }

  /** Takes the beginning of the text; default: all of it. */
  take(length = this.#text.length): string {
    const text = this.#text.slice(0, length)
    this.#text = this.#text.slice(length)
    this.#position = Math.max(0, this.#position - length)
    return text
  }

  /** Takes the text in which no further mark can begin. */
  takeScanned(): string {
    return this.take(Math.max(0, this.#text.length - maxMarkChars))
  }
}

/** The tags that a text has opened and not ended, by name. */
export class OpenTags {
  readonly #counts = new Map<string, number>()

  open(tag: string): void {
    this.#counts.set(tag, (this.#counts.get(tag) ?? 0) + 1)
  }

  /** Ends a tag, and returns false if none of its name is open. */
  close(tag: string): boolean {
    const count = this.#counts.get(tag) ?? 0
    if (count > 0) this.#counts.set(tag, count - 1)
    return count > 0
  }

  clear(): void {
    this.#counts.clear()
  }
}

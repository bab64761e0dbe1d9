import { describe, expect, test } from 'vitest'
import type { ModelTextOptions } from './model-text.ts'
import { ModelText } from './model-text.ts'
import { ReasoningHabit } from './reasoning-habit.ts'

interface Read {
  readonly text: string
  readonly pieces: readonly string[]
  readonly withheld: Readonly<Record<string, string>>
}

function read(modelText: string, size: number, options: ModelTextOptions = {}): Read {
  const reader = new ModelText(options)
  const pieces: string[] = []
  for (let at = 0; at < modelText.length; at += size) pieces.push(reader.add(modelText.slice(at, at + size)))
  pieces.push(reader.end())
  const withheld: Record<string, string> = {}
  for (const { kind, text } of reader.withheld) withheld[kind] = (withheld[kind] ?? '') + text
  return { text: pieces.join(''), pieces: pieces.filter(Boolean), withheld }
}

/** Reads the text in pieces of every size, which must give the same result. */
function readEverySplit(modelText: string, options: () => ModelTextOptions = () => ({})): Read {
  const unsplit = read(modelText, Math.max(1, modelText.length), options())
  for (let size = 1; size <= Math.min(modelText.length, 40); size += 1) {
    expect({ size, ...read(modelText, size, options()) }).toMatchObject({
      size,
      text: unsplit.text,
      withheld: unsplit.withheld,
    })
  }
  return unsplit
}

const unknown = () => ({ reasoningHabit: new ReasoningHabit() })

describe('reasoning in a model’s text', () => {
  test.each([
    '<think>The user wants hours.</think>\n\nOpen daily.',
    '\n <THINK>The user wants hours.</THINK>Open daily.',
    '<thinking>\nThe user wants hours.\n</thinking>\nOpen daily.',
    '<thought>The user wants hours.</thought>\nOpen daily.',
    '<thinking effort="low">The user wants hours.</thinking>\nOpen daily.',
    '<antThinking>The user wants hours.</antThinking>Open daily.',
    '<thoughts>The user wants hours.</thoughts>\nOpen daily.',
    '<reasoning>The user wants hours.</reasoning> Open daily.',
    '<seed:think>The user wants hours.</seed:think>Open daily.',
    '<think>a</think><think>b</think>Open daily.',
    '<think></think>\n<thinking>The user wants hours.</thinking>Open daily.',
    '◁think▷The user wants hours.◁/think▷Open daily.',
    '[THINK]The user wants hours.[/THINK]Open daily.',
    '<|channel|>analysis<|message|>The user wants hours.<|end|><|start|>assistant<|channel|>final<|message|>Open daily.<|return|>',
    '<|channel|>commentary to=functions.hours<|constrain|>json<|message|>{"day":1}<|call|><|channel|>final<|message|>Open daily.',
    'analysisThe user wants hours.assistantfinalOpen daily.',
    '<|channel>thought\nThe user wants hours.<channel|>Open daily.',
    '<|START_THINKING|>The user wants hours.<|END_THINKING|><|START_RESPONSE|>Open daily.<|END_RESPONSE|>',
    '<think>I could write <think>…</think> here, SECRET</think>Open daily.',
    '<think>a<think>b</think>c</think>Open daily.',
    '<think>A tag </think> ends a thought, SECRET</think>Open daily.',
    '<think>Never write <think> here.</think>Open daily.',
    '<think>Never write <think>-tags.</think>Open daily.',
    '<think>They are </think> Open daily.',
    '[THINK]I could write [THINK]…[/THINK] here, SECRET[/THINK]Open daily.',
    '\u200B<think>The user wants hours.</think>\u200BOpen daily.',
    '<think >The user wants hours.</think >Open daily.',
    '<longcat_think>The user wants hours.</longcat_think>Open daily.',
    '<unused94>thought\nThe user wants hours.<unused95>Open daily.',
    '<|begin_of_thought|>Hm.<|end_of_thought|>\n\n<|begin_of_solution|>Open daily.<|end_of_solution|>',
  ])('stays hidden: %j', modelText => {
    const { text, withheld } = readEverySplit(modelText)
    expect(text).toBe('Open daily.')
    expect(withheld.reasoning).toBeDefined()
    expect(readEverySplit(modelText, unknown).text).toBe('Open daily.')
  })

  test.each([
    'The user wants hours.\n</think>\n\nOpen daily.',
    'plan…</think>Open daily.',
    'I use `find`</think>Open daily.',
    'The plan is done. </thinking> Open daily.',
    'Hm.\n</reasoning>\nOpen daily.',
    'Hm.◁/think▷Open daily.',
    '\n</think>\n\nOpen daily.',
    'I plan to mention the <think> tag here\n</think>\nOpen daily.',
    'I could write <think>…</think> here, SECRET</think>Open daily.',
    'They say "yes"</think>Open daily.',
    '```\nunfinished code\n</think>\nOpen daily.',
  ])('stays hidden if only its end has a mark: %j', modelText => {
    const { text, withheld } = readEverySplit(modelText, unknown)
    expect(text).toBe('Open daily.')
    expect(withheld.reasoning).toContain('/')
  })

  test('stays hidden if nothing follows', () => {
    expect(readEverySplit('<think>I am not done').text).toBe('')
  })

  test('stays hidden at the beginning of a later line', () => {
    expect(readEverySplit('Let me see.\n<think>\nThe shed?\n</think>\nOpen daily.').text).toBe(
      'Let me see.\n\nOpen daily.',
    )
  })

  test('goes to the record from its own field, without a delay of the text', () => {
    const reader = new ModelText(unknown())
    reader.addReasoning('The user wants hours.')
    expect(reader.add('Open daily.')).toBe('Open daily.')
    expect(reader.withheld).toEqual([{ kind: 'reasoning', text: 'The user wants hours.' }])
  })
})

describe('tool calls and control tokens in a model’s text', () => {
  test.each([
    ['Open daily.\n<tool_call>\n{"name": "hours", "arguments": {}}\n</tool_call>', 'tool_call'],
    ['Open daily.<tool_call>{"name": "hours"}</tool_call>', 'tool_call'],
    ['Open daily. <function=hours>{"day": 1}</function>', 'tool_call'],
    ['Open daily.\n<function_calls>\n<invoke name="hours">\n</invoke>\n</function_calls>', 'tool_call'],
    ['Open daily.\n[TOOL_CALLS][{"name": "hours"}]', 'tool_call'],
    [
      'Open daily.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>hours<｜tool▁calls▁end｜>',
      'tool_call',
    ],
    ['Open daily.\n<tool_call>\n{"name": "hours"', 'tool_call'],
    ['Open daily.<|im_end|>', 'control_token'],
    ['Open daily.<|fim_pad|>', 'control_token'],
    ['Open daily.</s>\n', 'control_token'],
    ['<|message|>Open daily.<|end|>', 'control_token'],
    ['Open daily.<|im_end|>\n<|im_start|>user\nAnd on Sunday?', 'control_token'],
    ['Open daily.\n<end_of_turn>', 'control_token'],
    ['Open daily.<end_of_turn>\n<start_of_turn>user\nThanks!', 'control_token'],
    ['Open daily.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nThanks!', 'control_token'],
    ['<|im_start|>assistant\nOpen daily.', 'control_token'],
    ['Open daily.<｜end▁of▁sentence｜>', 'control_token'],
    ['<｜begin▁of▁sentence｜>Open daily.', 'control_token'],
    ['<bos>Open daily.', 'control_token'],
    ['[/INST] Open daily.[/INST]', 'control_token'],
    ['<|begin_of_box|>Open daily.<|end_of_box|>', 'control_token'],
    [
      'Open daily.\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="hours">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
      'tool_call',
    ],
    ['Open daily.<|endoftext|>', 'control_token'],
  ])('stay hidden: %j', (modelText, kind) => {
    const { text, withheld } = readEverySplit(modelText)
    expect(text).toBe('Open daily.')
    expect(withheld[kind]).toBeDefined()
    expect(readEverySplit(modelText, unknown).text).toBe('Open daily.')
  })

  test('may be between words', () => {
    const modelText = 'Let me look.\n<tool_call>\n{"name": "hours"}\n</tool_call>\nOpen daily.'
    expect(readEverySplit(modelText).text).toBe('Let me look.\n\nOpen daily.')
  })
})

describe('an answer that mentions such marks', () => {
  test.each([
    'DeepSeek R1 writes `<think>` before and `</think>` after it.',
    'It puts its plan between <think> and </think> tags.',
    'Wrap it as <think>plan</think> so that it is left out.',
    'You close it with </think> at the end.',
    'The tag is called "</think>".',
    'The tag (</think>) is the end.',
    'For example:\n\n```\n<think>\nplan\n</think>\nanswer<|im_end|>\n<tool_call>\n{}\n</tool_call>\n```\n\nThat is all.',
    '~~~xml\n<thinking>\nplan\n</thinking>\n~~~',
    'Price: <s>12</s> <s>11</s>',
    'The token </s> ends a turn, and <|pad|> fills one.',
    'The token <|im_end|> ends a turn, and `<end_of_turn>` does elsewhere.',
    'Models use the <tool_call> tag for that.',
    'ChatML ends with `<|im_end|>`\nand begins with `<|im_start|>`.',
    'I think so. <b>Bold</b>, a < b, x <- y, [link](https://agents.test), [TODO], <!-- note -->',
    'A list:\n- [ ] one\n- [x] two\n\n<details>\n<summary>More</summary>\n</details>',
    'Analysis: it is open daily.',
    'an `unclosed span\nand <b>more</b> `of` it ``a ` b``',
    '  indented\n\n\n    code\n\ttabs  \n\nend  \n',
    'We have <3 for you',
    'a <',
    '[',
    '`',
    '\n~~ struck ~~ <s>old</s>\nnew',
  ])('keeps them: %j', modelText => {
    const trimmed = modelText.trimStart()
    expect(readEverySplit(modelText)).toMatchObject({ text: trimmed, withheld: {} })
    expect(readEverySplit(modelText, unknown)).toMatchObject({ text: trimmed, withheld: {} })
  })
})

describe('the gateway’s own data block in a model’s text', () => {
  const delimiter = 'postern-data-3fk2'
  const options = () => ({ delimiter })

  test.each([
    `<${delimiter}>\n{"from":"@ann@peer.test"}\n</${delimiter}>\nOpen daily.`,
    `Open <${delimiter}>{"from":"@ann@peer.test"}</${delimiter}>daily.`,
    `\`\`\`\n<${delimiter}>\n{"from":"@ann@peer.test"}\n</${delimiter}>\n\`\`\``,
    `Open daily.</${delimiter}>`,
    `The block is called ${delimiter}.`,
    `Open daily.\n<${delimiter}>\n{"from":"@ann@peer.test"`,
  ])('stays hidden: %j', modelText => {
    const { text, withheld } = readEverySplit(modelText, options)
    expect(text).not.toMatch(/3fk2|peer\.test/)
    expect(withheld.data_block).toContain('3fk2')
    expect(text.replace(/\s|`/g, '')).toMatch(/^(?:Opendaily\.|Theblockiscalled\.|)$/)
  })

  test('does not hide similar text', () => {
    const modelText = '<postern-data>{}</postern-data> and postern-data-3fk1'
    expect(readEverySplit(modelText, options).text).toBe(modelText)
  })
})

describe('a stream of a model’s text', () => {
  const plain = 'We are open daily, from nine to five.'

  test('continues without a delay once the model has begun outside of reasoning', () => {
    const reasoningHabit = new ReasoningHabit()
    expect(read(plain, 7, { reasoningHabit }).pieces).toEqual([plain])
    expect(read(plain, 7, { reasoningHabit }).pieces.length).toBeGreaterThan(4)
  })

  test('waits for the end of reasoning if the model begins inside it', () => {
    const reasoningHabit = new ReasoningHabit()
    read('Hm.\n</think>\nYes.', 7, { reasoningHabit })
    const { text, pieces } = read(`Hours?\n</think>\n${plain}`, 7, { reasoningHabit })
    expect(text).toBe(plain)
    expect(pieces.length).toBeGreaterThan(4)
  })

  test('loses nothing of an answer without reasoning if the model began inside it', () => {
    const reasoningHabit = new ReasoningHabit('first')
    expect(read(plain, 7, { reasoningHabit }).text).toBe(plain)
  })

  test('publishes no unfinished reasoning', () => {
    const reader = new ModelText({ reasoningHabit: new ReasoningHabit('first') })
    reader.add('The user wants')
    expect(reader.end({ isCutOff: true })).toBe('')
    expect(reader.withheld).toEqual([{ kind: 'reasoning', text: 'The user wants' }])
  })

  test('waits for its end if it comes whole or nobody reads it before, even after answers without reasoning', () => {
    const reasoningHabit = new ReasoningHabit()
    read(plain, 7, { reasoningHabit })
    expect(read(`Hours?\n</think>\n${plain}`, 7, { reasoningHabit, waitsForEnd: true }).text).toBe(plain)
    const wholeText = new ModelText({ reasoningHabit: new ReasoningHabit('none') })
    wholeText.waitForEnd()
    expect(wholeText.add(`Hours?\n</think>\n${plain}`) + wholeText.end()).toBe(plain)
  })

  test('publishes nothing of a thought that ends in the middle, although it mentions another end', () => {
    const reader = new ModelText()
    reader.add('<think>I could write <think>…</think> or </think> here, SECRET')
    expect(reader.end({ isCutOff: true })).toBe('')
  })

  test('drops the tag if the operator says that the model never begins inside reasoning', () => {
    expect(read('Hm.\n</think>\nYes.', 3, { reasoningHabit: new ReasoningHabit('none') }).text).toBe('Hm.\n\nYes.')
  })
})

test('ModelText takes linear time for a long text of any content, and its record stays small', () => {
  for (const unit of [
    '<',
    '<think',
    '</think>',
    '<think>a</think> b',
    '`',
    '[TOOL',
    '◁',
    '<|channel|>',
    'a\n',
    '<a>',
    '``` ',
    '<tool_call>\n',
  ]) {
    const longText = unit.repeat(Math.ceil((256 * 1024) / unit.length))
    const before = process.threadCpuUsage()
    for (const size of [longText.length, 4096]) {
      const { withheld } = read(longText, size, {
        delimiter: 'postern-data-3fk2',
        reasoningHabit: new ReasoningHabit(),
      })
      expect(Object.values(withheld).join('').length).toBeLessThanOrEqual(32 * 1024)
    }
    expect({ unit, isFast: process.threadCpuUsage(before).user < 5_000_000 }).toEqual({ unit, isFast: true })
  }
})

test('ModelText reads twenty million characters in one chunk, beyond a regular expression’s stack', () => {
  const { text } = read('x'.repeat(20_000_000), 20_000_000)
  expect(text).toHaveLength(20_000_000)
})

// rhea at the end of a pipe: each line that comes in is a request in JSON, each line that goes out the answer to it.
// What rhea is asked to do, it does as in any program of its users. Where it lacks something (transactions), the frames
// that it writes are completed here.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import rhea from "rhea";
import WebSocket from "ws";

const { types, message } = rhea;
const DECLARE = 0x31;
const DISCHARGE = 0x32;
const DECLARED = 0x33;
const TRANSACTIONAL = 0x34;
const COORDINATOR = 0x30;
const LARGE = 1_000_000;
const OUTCOMES = { 0x24: "accepted", 0x25: "rejected", 0x26: "released", 0x27: "modified" };

// rhea knows of the field, but not how to write it; and it complains of states and targets that it does not know.
types.wrap_delivery_state = (state) => state;
console.warn = console.error = () => {};

const things = new Map(); // connections, sessions, links and deliveries by number
let numbered = 0;

function keep(thing) {
  numbered += 1;
  things.set(numbered, thing);
  return numbered;
}

class Refused extends Error {
  constructor(error) {
    super(error?.description ?? "");
    this.told = errorJson(error ?? {});
  }
}

// The first of these events; each name leads to what is made of its context.
function first(emitter, ways) {
  return new Promise((done, failed) => {
    const listeners = {};
    const forget = () => Object.entries(listeners).forEach(([name, on]) => emitter.removeListener(name, on));
    for (const [name, make] of Object.entries(ways)) {
      listeners[name] = (context) => {
        forget();
        try {
          done(make(context));
        } catch (error) {
          failed(error);
        }
      };
      emitter.on(name, listeners[name]);
    }
  });
}

function refuse(error) {
  throw new Refused(error);
}

// Values

function fromJson(value) {
  if (Array.isArray(value)) return value.map(fromJson);
  if (value === null || typeof value !== "object") return value;
  if ("$bytes" in value) return Buffer.from(value.$bytes, "base64");
  if ("$repeated" in value) return Buffer.alloc(value.$repeated[1], Buffer.from(value.$repeated[0], "base64"));
  if ("$long" in value) return types.wrap_long(value.$long);
  if ("$ulong" in value) return types.wrap_ulong(value.$ulong);
  if ("$uuid" in value) return types.wrap_uuid(Buffer.from(value.$uuid, "hex"));
  if ("$symbol" in value) return types.wrap_symbol(value.$symbol);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromJson(item)]));
}

function toJson(value) {
  if (value === undefined || value === null) return null;
  if (Buffer.isBuffer(value)) {
    if (value.length < LARGE) return { $bytes: value.toString("base64") };
    return { $large: [value.length, createHash("sha256").update(value).digest("hex")] };
  }
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Date) return value.getTime();
  if (typeof value !== "object") return value;
  if (value.typecode === 0x75) return toJson(value.multiple ? Buffer.concat(value.content) : value.content);
  if (value.typecode === 0x76) return { $sequence: toJson(value.content) };
  if ("condition" in value) return errorJson(value);
  if ("type" in value && "value" in value) return toJson(value.value); // what rhea calls a Typed
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJson(item)]));
}

function errorJson({ condition, description, info }) {
  return { condition: condition ?? "", description: description ?? "", info: toJson(info) };
}

function messageFrom(told) {
  const made = fromJson(told);
  if (Buffer.isBuffer(made.body)) made.body = message.data_section(made.body);
  for (const name of ["message_id", "correlation_id"]) {
    if (Buffer.isBuffer(made[name])) made[name] = types.wrap_binary(made[name]);
  }
  return made;
}

// Delivery states

function described(code, fields) {
  return types.described(types.wrap_ulong(code), types.wrap_list(fields));
}

function stateFrom({ outcome, error, failed, undeliverable, annotations, txn }) {
  const made = {
    accepted: () => message.accepted().described(),
    released: () => message.released().described(),
    rejected: () => message.rejected({ error }).described(),
    modified: () =>
      message
        .modified({ delivery_failed: failed, undeliverable_here: undeliverable, message_annotations: annotations })
        .described(),
  }[outcome]?.();
  return txn ? transactional(txn, made) : made;
}

function transactional(txn, outcome) {
  const fields = [types.wrap_binary(Buffer.from(txn, "hex"))];
  if (outcome) fields.push(outcome);
  return types.described(types.wrap_ulong(TRANSACTIONAL), types.List32(fields));
}

// A request to the coordinator as it is on the wire: rhea does not encode a described value in an amqp-value section.
function request(code, fields) {
  return Buffer.concat([Buffer.from([0, 0x53, 0x77, 0, 0x53, code]), fields]);
}

// What became of a delivery; rhea leaves states that it does not know as they came.
function outcomeOf(state) {
  if (!state) return { outcome: "" };
  const code = state.descriptor?.value;
  if (code === DECLARED) return { outcome: "declared", txn: state.value[0].value.toString("hex") };
  if (code === TRANSACTIONAL) {
    const inner = state.value[1]?.descriptor?.value;
    return { outcome: OUTCOMES[inner] ?? "", txn: state.value[0].value.toString("hex") };
  }
  const outcome = state.constructor.composite_type ?? "";
  return { outcome, error: toJson(state.error) ?? null };
}

// Requests

const requests = {
  async connect({ websocket, authority, certificate, key, external, ...options }) {
    const container = rhea.create_container({ id: options.container_id ?? `rhea-${numbered}` });
    const told = { reconnect: false, ...options };
    if (authority) told.ca = readFileSync(authority);
    if (certificate) {
      Object.assign(told, { cert: readFileSync(certificate), key: readFileSync(key) });
      told.enable_sasl_external = external;
    }
    if (websocket) told.connection_details = websocketDetails(container, websocket);
    const connection = container.connect(told);
    connection.on("protocol_error", (error) => (connection.broken = String(error)));
    connection.on("error", (error) => (connection.broken = String(error)));
    connection.on("disconnected", () => (connection.over = true));
    connection.on("connection_close", () => (connection.over = true));
    connection.on("connection_error", () => {});
    await first(connection, {
      connection_open: () => null,
      connection_error: ({ error }) => refuse(error),
      disconnected: ({ error }) => refuse({ condition: "", description: String(error) }),
    });
    // A refusal is an open with a close right behind it, which may have come already.
    const failed = connection.properties?.["amqp:connection-establishment-failed"];
    if (failed && !connection.error) await first(connection, { connection_error: () => null });
    if (failed) refuse(connection.error);
    return {
      connection: keep(connection),
      offered: connection.offered_capabilities ?? [],
      properties: toJson(connection.properties),
      container: connection.container_id,
    };
  },

  session({ connection }) {
    const session = things.get(connection).create_session();
    session.begin();
    return { session: keep(session) };
  },

  endSession({ session }) {
    const it = things.get(session);
    const ended = first(it, { session_close: () => ({}) });
    it.close();
    return ended;
  },

  async sender({ on, options }) {
    return await opened(things.get(on).open_sender(fromJson(options)), "sender");
  },

  async receiver({ on, options, selector, noLocal, nullSource, failing }) {
    const told = { credit_window: 0, autoaccept: false, autosettle: false, ...fromJson(options) };
    const filter = { ...(selector === undefined ? {} : rhea.filter.selector(selector)) };
    if (noLocal) filter["no-local"] = types.wrap_described([], 0x468c00000003);
    if (!nullSource) told.source = { ...told.source, filter: Object.keys(filter).length ? filter : undefined };
    if (failing) told.source.default_outcome = message.modified({ delivery_failed: true }).described();
    const link = things.get(on).open_receiver(told);
    link.inbox = [];
    link.on("message", (context) => link.inbox.push(context));
    return await opened(link, "receiver");
  },

  async coordinator({ on }) {
    const link = things.get(on).create_session ? things.get(on).session_policy.get_session() : things.get(on);
    const sender = link.create_sender(`coordinator-${numbered}`, {});
    sender.set_source({});
    const capability = types.wrap_symbol("amqp:local-transactions");
    sender.local.attach.target = described(COORDINATOR, [capability]);
    sender.attach();
    return await opened(sender, "sender", true);
  },

  async declare({ link }) {
    return await sent(link, request(DECLARE, Buffer.from([0x45])));
  },

  async discharge({ link, txn, fail }) {
    const id = Buffer.from(txn, "hex");
    const fields = Buffer.from([0xc0, id.length + 4, 2, 0xa0, id.length, ...id, fail ? 0x41 : 0x42]);
    return await sent(link, request(DISCHARGE, fields));
  },

  async send({ link, message: told, txn }) {
    return await sent(link, messageFrom(told), txn);
  },

  async sendMany({ link, messages }) {
    const results = messages.map((told) => sent(link, messageFrom(told)));
    return { outcomes: (await Promise.all(results)).map((result) => result.outcome) };
  },

  credit({ link, credit }) {
    things.get(link).add_credit(credit);
    return {};
  },

  async drain({ link }) {
    const receiver = things.get(link);
    const drained = first(receiver, { receiver_drained: () => ({ credit: receiver.credit }) });
    receiver.drain_credit();
    const result = await drained;
    receiver.drain = false;
    return result;
  },

  async get({ link, timeout }) {
    const receiver = things.get(link);
    const by = Date.now() + timeout * 1000;
    while (!receiver.inbox.length && Date.now() < by && !receiver.is_closed()) {
      await new Promise((done) => setTimeout(done, 2));
    }
    if (!receiver.inbox.length) return { delivery: 0, error: toJson(receiver.error) };
    const { message: got, delivery } = receiver.inbox.shift();
    return { delivery: keep(delivery), message: toJson(got), settled: delivery.remote_settled };
  },

  async settle({ delivery, settled, awaited, ...state }) {
    const it = things.get(delivery);
    const over = awaited ? first(it.link, { settled: () => it }) : null;
    it.update(settled, stateFrom(state));
    if (over) {
      await over;
      it.update(true);
    }
    return { settled: it.remote_settled };
  },

  async close({ thing }) {
    const it = things.get(thing);
    if (it.is_receiver === undefined) return await closed(it, "connection_close");
    return await closed(it, it.is_receiver() ? "receiver_close" : "sender_close");
  },

  async detach({ link }) {
    const it = things.get(link);
    const over = first(it, { [it.is_receiver() ? "receiver_close" : "sender_close"]: () => ({}) });
    it.detach();
    await over;
    // rhea keeps a link that it has detached; a program that attaches it again makes another of its name.
    it.remove();
    return {};
  },

  async ended({ thing, timeout }) {
    const it = things.get(thing);
    const by = Date.now() + timeout * 1000;
    while (Date.now() < by && !(it.over || (it.is_receiver && it.is_closed()))) {
      await new Promise((done) => setTimeout(done, 5));
    }
    return { over: Boolean(it.over || it.is_closed()), error: toJson(it.error) };
  },

  cut({ connection }) {
    const it = things.get(connection);
    it.over = true;
    it.socket.destroy();
    return {};
  },
};

function websocketDetails(container, url) {
  const connect = container.websocket_connect(WebSocket);
  return connect(url, ["amqp"], {});
}

async function opened(link, kind, coordinator = false) {
  let ended = false;
  link.on(`${kind}_error`, () => (ended = true));
  await first(link, { [`${kind}_open`]: () => null, [`${kind}_error`]: () => null });
  const terminus = kind === "sender" ? link.target : link.source;
  // An answer without the terminus is a refusal; why comes in the detach behind it.
  if (!terminus.address && !coordinator && terminus.value === null && !ended) {
    await first(link, { [`${kind}_error`]: () => null });
  }
  if (ended) refuse(link.error);
  return {
    link: keep(link),
    address: terminus.address ?? null,
    capabilities: toJson(terminus.capabilities),
    filter: Object.keys(terminus.filter ?? {}),
    longest: Number(link.max_message_size ?? 0),
  };
}

// Send, and wait until the server says what became of it, or that the link is no more.
async function sent(number, made, txn) {
  const sender = things.get(number);
  sender.waiting ??= new Map();
  if (!sender.listening) {
    sender.listening = true;
    sender.on("settled", ({ delivery }) => sender.waiting.get(delivery)?.(outcomeOf(delivery.remote_state)));
    sender.on("sender_error", () => {
      for (const tell of sender.waiting.values()) tell({ outcome: "", error: toJson(sender.error) });
    });
  }
  const delivery = Buffer.isBuffer(made) ? sender.send(made, undefined, 0) : sender.send(made);
  if (txn) completeTransfers(sender.session, delivery, transactional(txn));
  if (delivery.settled) return { outcome: "" };
  const result = await new Promise((done) => sender.waiting.set(delivery, done));
  sender.waiting.delete(delivery);
  return result;
}

// rhea's transfers have no state: put it into those of one delivery.
function completeTransfers(session, delivery, state) {
  const output = session.output;
  session.output = function (frame, payload) {
    if (payload !== undefined && frame.delivery_id === delivery.id) frame.state = state;
    return output.call(this, frame, payload);
  };
}

async function closed(it, event) {
  if (it.over || it.is_closed()) return {};
  const over = first(it, { [event]: () => ({}), disconnected: () => ({}) });
  it.close();
  return await over;
}

rhea.on("error", () => {});
console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const { number, request, ...told } = JSON.parse(line);
  Promise.resolve()
    .then(() => requests[request](told))
    .then((answer) => ({ number, answer }))
    .catch((error) => ({ number, ...(error instanceof Refused ? { refused: error.told } : { broken: error.stack }) }))
    .then((answer) => console.log(JSON.stringify(answer)));
}
process.exit(0);
